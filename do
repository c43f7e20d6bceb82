#!/bin/bash
# One word per habit. `./do` lists the words. What is built or fetched once stays in $GANTRY_CACHE
# (default ~/.cache/gantry); what belongs to this clone stays in build/ and out/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export GANTRY_CACHE=${GANTRY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gantry}
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-5G}
python=$GANTRY_CACHE/venv/bin/python

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }
progress() { python3 tools/progress.py "$@"; }

word_setup() {  # install what building and testing needs (Debian packages, a Python environment)
  local wanted missing
  wanted=$(sed 's/#.*//' tools/packages.txt)
  missing=$(for p in $wanted; do dpkg-query -W -f '${Status}' "$p" 2> /dev/null | grep -q 'ok installed' || echo "$p"; done)
  if [ -n "$missing" ]; then
    say "installing Debian packages:" $missing
    progress 'reading the lists of Debian packages' apt-get update
    DEBIAN_FRONTEND=noninteractive progress 'installing Debian packages' \
      apt-get install -y --no-install-recommends $missing
  fi
  if ! cmp -s tools/requirements.txt "$GANTRY_CACHE/venv/installed.txt"; then
    say "making a Python environment in $GANTRY_CACHE/venv"
    rm -rf "$GANTRY_CACHE/venv"
    mkdir -p "$GANTRY_CACHE"
    python3 -m venv "$GANTRY_CACHE/venv"
    progress 'installing Python packages' "$python" -m pip install -q --disable-pip-version-check -r tools/requirements.txt
    cp tools/requirements.txt "$GANTRY_CACHE/venv/installed.txt"
  fi
}

word_build() {  # build a preset: ./do build [dev|release|asan|tsan] [TARGET...]
  local preset=${1:-release}
  shift || true
  mkdir -p "build/$preset"
  (
    flock 9  # stages that run side by side build in one folder
    cmake --preset "$preset" --log-level=WARNING > /dev/null
    progress "compiling (preset $preset)" ninja -C "build/$preset" "$@"
  ) 9> "build/$preset/.lock"
}

word_image() {  # build the image of all operands: out/gantry.tar
  word_build release gantry gantry-runtime gantry-ctk gantry-cuda fakegpu_nvml
  deploy/image/build.sh build/release out/gantry.tar
}

word_driver() {  # an image that compiles and loads a driver: ./do driver VERSION [TREE...] makes out/gantry-driver.tar
  word_build release gantry
  deploy/driver_image/build.sh build/release out/gantry-driver.tar "$@"
}

word_bed() {  # a real Kubernetes on this machine: ./do bed up|down|kubectl|exec|gpu|audit|dump ... (--help)
  python3 testbed/cluster/bed.py "$@"
}

word_test() {  # build and run every test: ./do test [--kubernetes VERSION] [format|unit|fuzz|tsan|bed|stories|tidy]
  word_setup
  "$python" tools/test.py "$@"
}

word_mutate() {  # break Gantry on purpose, line by line, and see the user stories fail: ./do mutate [NAME...]
  word_setup
  "$python" tools/mutate.py "$@"
}

word_demo() {  # install Gantry on a cluster with fake GPUs (or on KUBECONFIG with IMAGE) and run a GPU pod
  word_setup
  "$python" tools/demo.py "$@"
}

word_picture() {  # draw docs/status.svg: `gantry status` of the demo's cluster (./do demo --keep)
  python3 tools/picture.py "$@"
}

word_dashboard() {  # draw docs/dashboard.png: the dashboard's panels, as a real Prometheus has them: ./do dashboard [OUTPUT.png]
  word_setup
  word_build release gantry fakegpu_nvml fake_pod_resources
  local own=$GANTRY_CACHE/matplotlib  # no other word needs it
  if ! cmp -s tools/requirements-dashboard.txt "$own/installed.txt"; then
    rm -rf "$own"
    progress 'installing matplotlib' "$python" -m pip install -q --disable-pip-version-check --target "$own" \
      -r tools/requirements-dashboard.txt
    cp tools/requirements-dashboard.txt "$own/installed.txt"
  fi
  PYTHONPATH=$own "$python" tools/dashboard.py "$@"
}

word_bench() {  # measure: ./do bench WORD prints `name value unit` lines; without a word, lists the words
  word_setup
  "$python" bench/bench.py "$@"
}

word_order() {  # see which functions operands run, for the linker to lay them side by side (needs valgrind)
  word_setup
  word_build release gantry gantry-runtime gantry-ctk gantry-cuda fakegpu_nvml device_plugin_component fake_pod_resources fake_kubelet fake_dra_kubelet
  "$python" tools/order.py
}

word_matrix() {  # try the container toolkit with every containerd in use: ./do matrix [PYTEST ARGUMENT...]
  word_setup
  word_build release gantry gantry-runtime gantry-ctk
  GANTRY_BUILD=$PWD/build/release GANTRY_MATRIX=full "$python" -m pytest -v -p no:cacheprovider \
    tests/component/test_runtime_matrix.py "$@"
}

word_failures() {  # fail at each API call of a roll-out of drivers over 50 nodes: ./do failures [PYTEST ARGUMENT...]
  word_setup
  word_build release gantry
  GANTRY_BUILD=$PWD/build/release "$python" -m pytest -v -s -p no:cacheprovider tests/component/upgrade_failures.py "$@"
}

word_migkills() {  # kill and refuse nvidia-mig-manager at any moment of a change: ./do migkills [PYTEST ARGUMENT...]
  word_setup
  word_build release gantry fakegpu_nvml fake_pod_resources fake_kubelet
  GANTRY_BUILD=$PWD/build/release "$python" -m pytest -v -s -p no:cacheprovider tests/component/mig_failures.py "$@"
}

word_migparity() {  # Gantry's nvidia-mig-parted beside NVIDIA's own, all layouts: ./do migparity [PYTEST ARGUMENT...]
  word_setup
  word_build release gantry fakegpu_nvml
  GANTRY_BUILD=$PWD/build/release "$python" -m pytest -v -p no:cacheprovider tests/component/mig_parity.py "$@"
}

word_fmt() {  # format the C++ sources
  git ls-files '*.cc' '*.h' | xargs clang-format-19 -i
}

word_repeats() {  # count repeated places in src: pairs of six lines or more of one shape (--help)
  python3 tools/repeats.py "$@"
}

word_clean() {  # end every bed of this machine and remove what this clone built
  word_bed down --all
  rm -rf build out
}

word_help() {
  echo "usage: ./do WORD [...]"
  sed -n 's/^word_\([a-z]*\)() {  # \(.*\)/  \1\t\2/p' do | expand -t 10
}

word=${1:-help}
[ $# -eq 0 ] || shift
if ! declare -F "word_$word" > /dev/null; then
  echo "do: no word '$word'" >&2
  word_help >&2
  exit 2
fi
"word_$word" "$@"
