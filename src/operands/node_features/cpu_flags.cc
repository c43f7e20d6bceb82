// SPDX-License-Identifier: Apache-2.0
// Which features does the processor have, under NFD's names? The world-readable /proc/cpuinfo lists
// them (names of arch/x86/include/asm/cpufeatures.h); most names differ from NFD's only by case, a
// table has the others.
#include "operands/node_features/cpu_flags.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/text.h"

namespace gantry::node_features {
namespace {

// Kernel's name -> NFD's, if that is not the same in upper case.
constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
    {"3dnow", "AMD3DNOW"},
    {"3dnowext", "AMD3DNOWEXT"},
    {"abm", "LZCNT"},
    {"aes", "AESNI"},
    {"amd_psfd", "PSFD"},
    {"amx_bf16", "AMXBF16"},
    {"amx_fp16", "AMXFP16"},
    {"amx_int8", "AMXINT8"},
    {"amx_tile", "AMXTILE"},
    {"arch_capabilities", "IA32_ARCH_CAP"},
    {"avx512_4fmaps", "AVX5124FMAPS"},
    {"avx512_4vnniw", "AVX5124VNNIW"},
    {"avx512_bf16", "AVX512BF16"},
    {"avx512_bitalg", "AVX512BITALG"},
    {"avx512_fp16", "AVX512FP16"},
    {"avx512_vbmi2", "AVX512VBMI2"},
    {"avx512_vnni", "AVX512VNNI"},
    {"avx512_vp2intersect", "AVX512VP2INTERSECT"},
    {"avx512_vpopcntdq", "AVX512VPOPCNTDQ"},
    {"avx512ifma", "AVX512IFMA"},
    {"avx512vbmi", "AVX512VBMI"},
    {"avx_ifma", "AVXIFMA"},
    {"avx_vnni", "AVXVNNI"},
    {"avx_vnni_int8", "AVXVNNIINT8"},
    {"core_capabilities", "IA32_CORE_CAP"},
    {"cpb", "CPBOOST"},
    {"cx8", "CMPXCHG8"},
    {"decodeassists", "SVMDA"},
    {"flushbyasid", "SVMFBASID"},
    {"fma", "FMA3"},
    {"fpu", "X87"},
    {"fxsr_opt", "FXSROPT"},
    {"ht", "HTT"},
    {"ibt", "CETIBT"},
    {"lahf_lm", "LAHF"},
    {"lbrv", "LBRVIRT"},
    {"npt", "SVMNP"},
    {"nrip_save", "NRIPS"},
    {"overflow_recov", "MCAOVERFLOW"},
    {"pausefilter", "SVMPF"},
    {"pclmulqdq", "CLMUL"},
    {"pfthreshold", "SVMPFT"},
    {"pni", "SSE3"},
    {"sep", "SYSEE"},
    {"sgx_lc", "SGXLC"},
    {"sha_ni", "SHA"},
    {"ssbd", "SPEC_CTRL_SSBD"},
    {"sse4_1", "SSE4"},
    {"sse4_2", "SSE42"},
    {"svm_lock", "SVML"},
    {"topoext", "TOPEXT"},
    {"tsc_scale", "TSCRATEMSR"},
    {"user_shstk", "CETSS"},
    {"vmcb_clean", "VMCBCLEAN"},
};

// The same in upper case.
constexpr std::string_view kSame[] = {
    "adx",     "avx",       "avx2",     "avx512bw", "avx512cd",   "avx512dq",   "avx512er",
    "avx512f", "avx512pf",  "avx512vl", "bmi1",     "bmi2",       "cldemote",   "clzero",
    "cmov",    "cx16",      "enqcmd",   "erms",     "f16c",       "flush_l1d",  "fma4",
    "fsrm",    "fxsr",      "fzrm",     "gfni",     "hle",        "hybrid_cpu", "hypervisor",
    "ibpb",    "ibrs",      "ibs",      "lwp",      "md_clear",   "mmx",        "mmxext",
    "movbe",   "movdir64b", "movdiri",  "mpx",      "nx",         "pconfig",    "popcnt",
    "rdpru",   "rdrand",    "rdseed",   "rdtscp",   "rtm",        "serialize",  "sev",
    "sev_es",  "sev_snp",   "sgx",      "sme",      "sse",        "sse2",       "sse4a",
    "ssse3",   "stibp",     "succor",   "svm",      "syscall",    "tbm",        "tdx_guest",
    "tme",     "tsxldtrk",  "vaes",     "vmx",      "vpclmulqdq", "waitpkg",    "wbnoinvd",
    "xgetbv1", "xop",       "xsave",    "xsavec",   "xsaveopt",   "xsaves",
};

std::string Capitals(std::string_view text) {
  std::string capitals;
  std::ranges::transform(text, std::back_inserter(capitals), [](char letter) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  });
  return capitals;
}

// The value of the first line "<key>   : value".
std::string_view FirstLine(std::string_view cpuinfo, std::string_view key) {
  for (size_t at = cpuinfo.find(key); at != std::string_view::npos;
       at = cpuinfo.find(key, at + 1)) {
    const std::string_view line = cpuinfo.substr(at, cpuinfo.find('\n', at) - at);
    const size_t colon = line.find(':');
    if ((at == 0 || cpuinfo[at - 1] == '\n') && colon != std::string_view::npos &&
        Trim(line.substr(0, colon)) == key) {
      return Trim(line.substr(colon + 1));
    }
  }
  return "";
}

}  // namespace

std::set<std::string, std::less<>> CpuFlags(std::string_view cpuinfo) {
  std::set<std::string, std::less<>> flags;
  for (const std::string& flag : Split(FirstLine(cpuinfo, "flags"), ' ')) {
    const auto* renamed =
        std::ranges::find(kRenamed, flag, &std::pair<std::string_view, std::string_view>::first);
    if (renamed != std::end(kRenamed)) {
      flags.emplace(renamed->second);
    } else if (std::ranges::find(kSame, flag) != std::end(kSame)) {
      flags.insert(Capitals(flag));
    }
  }
  for (const std::string& flag : Split(FirstLine(cpuinfo, "Features"), ' ')) {
    if (!flag.empty()) {
      flags.insert(Capitals(flag));
    }
  }
  return flags;
}

}  // namespace gantry::node_features
