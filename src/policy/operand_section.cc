// SPDX-License-Identifier: Apache-2.0

// Which fields do the sections of all operands have in common? Read for ClusterPolicy and
// NVIDIADriver.

#include "policy/operand_section.h"

#include "policy/spec_section.h"

namespace gantry::policy {
namespace {

void ReadImage(const SpecSection& section, ImageSpec& out) {
  section.Text("repository", out.repository);
  section.Text("image", out.image);
  section.Text("version", out.version);
  section.Text("imagePullPolicy", out.pull_policy);
  section.Texts("imagePullSecrets", out.pull_secrets);
}

}  // namespace

void ReadOperand(const SpecSection& section, OperandSpec& out) {
  section.Bool("enabled", out.enabled);
  ReadImage(section, out.image);
  section.Texts("args", out.args);
  section.Env(out.env);
  section.Bool("hostNetwork", out.host_network);
  section.Object("resources", out.resources);
}

void ReadDriverManager(const SpecSection& section, DriverManagerSpec& out) {
  ReadImage(section, out.image);
  section.Env(out.env);
}

void ReadProbe(const SpecSection& section, ProbeSpec& out) {
  section.Number("initialDelaySeconds", out.initial_delay);
  section.Number("timeoutSeconds", out.timeout);
  section.Number("periodSeconds", out.period);
  section.Number("successThreshold", out.success);
  section.Number("failureThreshold", out.failure);
}

}  // namespace gantry::policy
