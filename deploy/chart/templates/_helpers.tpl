{{- define "gantry.labels" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name | toString | trunc 63 | trimSuffix "-" }}
helm.sh/chart: {{ include "gantry.chart" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.operator.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* A label's value must not contain a "+", a version may. */}}
{{- define "gantry.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" -}}
{{- end }}

{{/* A string from the values; helm converts a version such as 20240101 to a number. */}}
{{- define "gantry.text" -}}
{{- kindIs "string" . | ternary . (toJson .) -}}
{{- end }}

{{/* The reference of an image from its parts, or from `image` if that is one. */}}
{{- define "gantry.reference" -}}
{{- if .repository -}}
{{- printf "%s/%s%s%s" .repository .image (hasPrefix "sha256:" .version | ternary "@" ":") .version -}}
{{- else -}}
{{- .image -}}
{{- end -}}
{{- end }}

{{/* The operator's own image, in parts. */}}
{{- define "gantry.ownImage" -}}
{{- $version := include "gantry.text" (.Values.operator.version | default .Chart.AppVersion) -}}
{{- pick .Values.operator "repository" "image" | merge (dict "version" $version) | toJson -}}
{{- end }}

{{- define "gantry.image" -}}
{{- include "gantry.reference" (include "gantry.ownImage" . | fromJson) -}}
{{- end }}

{{/* Whether a section's image is that of NVIDIA's operator, which is also its validator. */}}
{{- define "gantry.isNvidias" -}}
{{- if and (hasPrefix "nvcr.io/nvidia" (.repository | default "")) (eq (.image | default "gpu-operator") "gpu-operator") -}}true{{- end -}}
{{- end }}

{{/* Runs before NVIDIA's driver containers, which need it. `.values`: as in gantry.values. */}}
{{- define "gantry.driverManager" -}}
{{- $manager := .values.driver.manager -}}
{{- if not (or $manager.repository $manager.image $manager.version) -}}
{{- $manager = (.root.Files.Get "nvidia-operands.yaml" | fromYaml).driver.manager -}}
{{- end -}}
{{- include "gantry.reference" $manager -}}
{{- end }}

{{/*
Sets, in place, the parts of a section's image that its values leave out. `alone`: whether a version alone selects the
image; `always`: whether it is selected in any case. An image with a slash and without other parts is a reference.
*/}}
{{- define "gantry.completeImage" -}}
{{- $section := .section -}}
{{- $asked := or .always $section.repository $section.image (and .alone $section.version) -}}
{{- if and $asked (or $section.repository (not (contains "/" ($section.image | default "")))) -}}
  {{- range $part := list "repository" "image" "version" -}}
    {{- $known := get $.known $part -}}
    {{- if and $known (not (get $section $part)) -}}{{- $_ := set $section $part $known -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- end }}

{{/*
Sets, in place, the parts of a section's image that its values leave out from the cluster (`.live`): a mirror, or a
version, does not change the other parts. Values with another image select another operand. `always`: whether the running
image stays if no part is set; NVIDIA's chart sets all of them by default, so the values given to its release do not.
*/}}
{{- define "gantry.keepImage" -}}
{{- $section := .section -}}
{{- $live := .live | default dict -}}
{{- $named := or $section.repository $section.image $section.version -}}
{{- $same := and $live.repository (eq ($section.image | default $live.image) $live.image) -}}
{{- if and $live.image (ternary $same .always (not (empty $named))) -}}
  {{- include "gantry.completeImage" (dict "section" $section "known" $live "always" true) -}}
{{- end -}}
{{- end }}

{{/* The spec of the cluster's ClusterPolicy, with the driver of the NVIDIADriver if that counts, in JSON; {} without a cluster. */}}
{{- define "gantry.live" -}}
{{- $live := dict -}}
{{- if .Capabilities.APIVersions.Has "nvidia.com/v1/ClusterPolicy" -}}
  {{- $live = get (lookup "nvidia.com/v1" "ClusterPolicy" "" "cluster-policy") "spec" | default dict -}}
{{- end -}}
{{- if dig "driver" "useNvidiaDriverCRD" false $live -}}
  {{- $driver := dict -}}
  {{- if .Capabilities.APIVersions.Has "nvidia.com/v1alpha1/NVIDIADriver" -}}
    {{- $driver = lookup "nvidia.com/v1alpha1" "NVIDIADriver" "" "default" -}}
  {{- end -}}
  {{- $spec := get $driver "spec" | default dict -}}
  {{- $_ := set $live "driver" $spec -}}
  {{- range $part := list "gds" "gdrcopy" -}}
    {{- with get $spec $part -}}{{- $_ := set $live $part . -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- toJson $live -}}
{{- end }}

{{/*
`.value` with the types of a custom resource's schema: {"value": ...}. Helm converts a version such as 535 to a number, and
other tools convert numbers and booleans to strings.
*/}}
{{- define "gantry.typed" -}}
{{- $type := get .schema "type" -}}
{{- $value := .value -}}
{{- if kindIs "map" .value -}}
  {{- $value = dict -}}
  {{- range $key, $inner := .value -}}
    {{- $schema := dig "properties" $key (get $.schema "additionalProperties" | default dict) $.schema -}}
    {{- $_ := set $value $key (include "gantry.typed" (dict "value" $inner "schema" $schema) | fromJson).value -}}
  {{- end -}}
{{- else if kindIs "slice" .value -}}
  {{- $value = list -}}
  {{- range $inner := .value -}}
    {{- $schema := get $.schema "items" | default dict -}}
    {{- $value = append $value (include "gantry.typed" (dict "value" $inner "schema" $schema) | fromJson).value -}}
  {{- end -}}
{{- else if and (eq $type "string") (kindIs "float64" .value) -}}
  {{- $value = toJson .value -}}
{{- else if and (eq $type "boolean") (kindIs "string" .value) -}}
  {{- $value = eq .value "true" -}}
{{- else if and (eq $type "integer") (kindIs "string" .value) -}}
  {{- $value = int64 .value -}}
{{- end -}}
{{- dict "value" $value | toJson -}}
{{- end }}

{{/*
The values for the templates of the custom resources, in JSON: every section exists, even with the values of another chart
(--reuse-values); every value has the type of its field; a partly set image is complete.
*/}}
{{- define "gantry.values" -}}
{{- $values := .Values | toJson | fromJson -}}
{{- range $path := list "cdi" "clusterPolicy" "daemonsets" "dcgmExporter" "devicePlugin.config" "draDriver" "driver.manager" "driver.nvidiaDriverCRD" "driver.upgradePolicy" "gdrcopy" "gds" "gfd" "gpuCluster" "migManager" "networkPolicy" "nfd" "nodeStatusExporter" "operator.logging" "sandboxDevicePlugin" "toolkit" "validator" "vfioManager" -}}
  {{- $section := $values -}}
  {{- range $key := splitList "." $path -}}
    {{- if not (kindIs "map" (get $section $key)) -}}{{- $_ := set $section $key dict -}}{{- end -}}
    {{- $section = get $section $key -}}
  {{- end -}}
{{- end -}}
{{- range $section, $switch := dict "clusterPolicy" "deployCR" "nfd" "enabled" -}}
  {{- if not (hasKey (get $values $section) $switch) -}}{{- $_ := set (get $values $section) $switch true -}}{{- end -}}
{{- end -}}
{{- /* The values have another name for this key than the resources. */}}
{{- with $values.driver.upgradePolicy.gpuPodDeletion -}}{{- $_ := set $values.driver.upgradePolicy "podDeletion" . -}}{{- end -}}
{{- $_ := unset $values.driver.upgradePolicy "gpuPodDeletion" -}}
{{- $resource := .Files.Get "crds/nvidia.com_clusterpolicies.yaml" | fromYaml -}}
{{- $schema := (index $resource.spec.versions 0).schema.openAPIV3Schema.properties.spec -}}
{{- $values = (include "gantry.typed" (dict "value" $values "schema" $schema) | fromJson).value -}}
{{- /* A version alone is usually an NVIDIA image's: it selects operands that only exist as NVIDIA images. */}}
{{- $own := include "gantry.ownImage" . | fromJson -}}
{{- $nvidiasOwn := dict "repository" "nvcr.io/nvidia" "image" "gpu-operator" "version" "v26.7.0" -}}
{{- $nvidias := dict "toolkit" (dict "repository" "nvcr.io/nvidia/k8s" "image" "container-toolkit" "version" "v1.20.0") "devicePlugin" (dict "repository" "nvcr.io/nvidia" "image" "k8s-device-plugin" "version" "v0.20.0") "gfd" (dict "repository" "nvcr.io/nvidia" "image" "k8s-device-plugin" "version" "v0.20.0") -}}
{{- range $name := list "validator" "nodeStatusExporter" -}}
  {{- $section := get $values $name -}}
  {{- /* NVIDIA's charts before 25.10 set it to their own version. */}}
  {{- if and (eq ($section.image | default "") "gpu-operator-validator") (not $section.version) -}}
    {{- $_ := mergeOverwrite $section $own -}}
  {{- end -}}
  {{- $theirs := or (include "gantry.isNvidias" $section) (eq ($section.image | default "") "gpu-operator") -}}
  {{- $_ := set $nvidias $name (ternary $nvidiasOwn $own (and $theirs (ne $own.image "gpu-operator"))) -}}
{{- end -}}
{{- $live := include "gantry.live" . | fromJson -}}
{{- range $name := list "toolkit" "devicePlugin" "gfd" -}}
  {{- include "gantry.keepImage" (dict "section" (get $values $name) "live" (get $live $name)) -}}
{{- end -}}
{{- range $name, $known := $nvidias -}}
  {{- $section := get $values $name -}}
  {{- /* A mirror alone selects Gantry's operand, which runs the operator's image. */}}
  {{- if and (not (or $section.image $section.version)) (not (include "gantry.isNvidias" $section)) -}}
    {{- $_ := unset $section "repository" -}}
  {{- end -}}
  {{- include "gantry.completeImage" (dict "section" $section "known" $known) -}}
{{- end -}}
{{- $nvidiaOperands := .Files.Get "nvidia-operands.yaml" | fromYaml -}}
{{- /* Before 25.10 it was a script of NVIDIA's operator in a CUDA image; Gantry has no such script. */}}
{{- range $policy := list $values $live -}}
  {{- if eq (dig "vfioManager" "image" "" $policy) "cuda" -}}
    {{- $_ := mergeOverwrite $policy.vfioManager (pick $nvidiaOperands.vfioManager "repository" "image" "version") -}}
  {{- end -}}
{{- end -}}
{{- $crd := $values.driver.nvidiaDriverCRD -}}
{{- /* In NVIDIA's chart these switches alone select the operand. */}}
{{- $switched := dict "gds" $values.gds.enabled "gdrcopy" $values.gdrcopy.enabled "driver" (and $values.driver.enabled $crd.enabled $crd.deployDefaultCR) -}}
{{- range $name, $known := $nvidiaOperands | merge (dict "vgpuManager" (dict "image" "vgpu-manager")) -}}
  {{- $section := get $values $name -}}
  {{- if kindIs "map" $section -}}
    {{- /* These are ours too. The name of our image asks for it, whatever runs; a mirror alone has no other. */}}
    {{- $both := has $name (list "dcgmExporter" "draDriver" "migManager" "vfioManager" "sandboxDevicePlugin") -}}
    {{- $ours := and $both (eq ($section.image | default "") $own.image) -}}
    {{- if not $ours -}}
      {{- include "gantry.keepImage" (dict "section" $section "live" (get $live $name) "always" true) -}}
    {{- end -}}
    {{- if or $ours (and $both (not (or $section.image $section.version)) (not (include "gantry.isNvidias" $section))) -}}
      {{- range $part := list "repository" "image" "version" -}}{{- $_ := unset $section $part -}}{{- end -}}
    {{- end -}}
    {{- include "gantry.completeImage" (dict "section" $section "known" $known "alone" true "always" (get $switched $name)) -}}
    {{- range $manager := list "manager" "driverManager" -}}
      {{- if and (kindIs "map" (get $section $manager)) (hasKey $known $manager) -}}
        {{- include "gantry.keepImage" (dict "section" (get $section $manager) "live" (dig $name $manager dict $live) "always" true) -}}
        {{- include "gantry.completeImage" (dict "section" (get $section $manager) "known" (get $known $manager) "alone" true) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toJson $values -}}
{{- end }}

{{/* A map without its empty strings, lists, maps and nulls; false and 0 stay. */}}
{{- define "gantry.prune" -}}
{{- $out := dict -}}
{{- range $key, $value := . -}}
  {{- if kindIs "map" $value -}}
    {{- $inner := include "gantry.prune" $value | fromYaml -}}
    {{- if $inner -}}{{- $_ := set $out $key $inner -}}{{- end -}}
  {{- else if or $value (kindIs "bool" $value) (kindIs "float64" $value) (kindIs "int" $value) (kindIs "int64" $value) -}}
    {{- $_ := set $out $key $value -}}
  {{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end }}

{{/*
`.value` as the API server stores it by the schema of a custom resource, in JSON: {"value": ...}. Fields that the schema
lacks are removed, and its defaults are added; else a tool that compares rendered and stored objects always finds a
difference.
*/}}
{{- define "gantry.stored" -}}
{{- $schema := .schema -}}
{{- $value := .value -}}
{{- if kindIs "map" .value -}}
  {{- $value = dict -}}
  {{- $fields := $schema.properties | default dict -}}
  {{- range $key, $inner := .value -}}
    {{- $field := get $fields $key | default (get $schema "additionalProperties") -}}
    {{- if $field -}}
      {{- $_ := set $value $key (include "gantry.stored" (dict "value" $inner "schema" $field) | fromJson).value -}}
    {{- end -}}
  {{- end -}}
  {{- range $key, $field := $fields -}}
    {{- if and (hasKey $field "default") (not (hasKey $value $key)) -}}
      {{- $_ := set $value $key (include "gantry.stored" (dict "value" $field.default "schema" $field) | fromJson).value -}}
    {{- end -}}
  {{- end -}}
{{- else if kindIs "slice" .value -}}
  {{- $value = list -}}
  {{- range $inner := .value -}}
    {{- $value = append $value (include "gantry.stored" (dict "value" $inner "schema" $schema.items) | fromJson).value -}}
  {{- end -}}
{{- end -}}
{{- dict "value" $value | toJson -}}
{{- end }}

{{/* The spec of a custom resource as stored; `.file` has its CRD. */}}
{{- define "gantry.spec" -}}
{{- $schema := (index (.root.Files.Get .file | fromYaml).spec.versions 0).schema.openAPIV3Schema.properties.spec -}}
{{- (include "gantry.stored" (dict "value" .spec "schema" $schema) | fromJson).value | toYaml -}}
{{- end }}

{{/* Lines with the names of unknown values; `.known`: as in known-values.json. */}}
{{- define "gantry.namesNotKnown" -}}
{{- $known := .known -}}
{{- $path := .path -}}
{{- if and (kindIs "map" .value) (kindIs "map" $known) -}}
  {{- range $key, $inner := .value -}}
    {{- $name := printf "%s.%s" $path $key | trimPrefix "." -}}
    {{- if hasKey $known $key -}}
      {{- include "gantry.namesNotKnown" (dict "value" $inner "known" (get $known $key) "path" $name) -}}
    {{- else if not (kindIs "invalid" $inner) -}}
      {{- printf "%s\n" $name -}}
    {{- end -}}
  {{- end -}}
{{- else if and (kindIs "slice" .value) (kindIs "slice" $known) -}}
  {{- range $inner := .value -}}
    {{- include "gantry.namesNotKnown" (dict "value" $inner "known" (first $known) "path" (printf "%s[]" $path)) -}}
  {{- end -}}
{{- end -}}
{{- end }}

{{/* Unknown values, a list in JSON. Helm passes them to the templates anyway. */}}
{{- define "gantry.notKnown" -}}
{{- $known := (.Files.Get "known-values.json" | fromJson).known -}}
{{- $names := include "gantry.namesNotKnown" (dict "value" (.Values | toJson | fromJson) "known" $known "path" "") -}}
{{- compact (splitList "\n" $names) | uniq | toJson -}}
{{- end }}

{{/* Lines with the names, up to three levels, of set values that differ from the default and have no effect. */}}
{{- define "gantry.namesNotFollowed" -}}
{{- $path := .path -}}
{{- $followed := .followed -}}
{{- $defaults := .defaults -}}
{{- if kindIs "map" .value -}}
  {{- range $key, $inner := .value -}}
    {{- $below := kindIs "map" $followed | ternary $followed dict -}}
    {{- if or (not (hasKey $below $key)) (kindIs "map" (get $below $key)) -}}
      {{- $default := kindIs "map" $defaults | ternary $defaults dict -}}
      {{- include "gantry.namesNotFollowed" (dict "value" $inner "followed" (get $below $key) "defaults" (get $default $key) "path" (append $path $key)) -}}
    {{- end -}}
  {{- end -}}
{{- else if and .value (ne (toJson .value) (toJson $defaults)) -}}
  {{- printf "%s\n" (join "." (slice $path 0 (min 3 (len $path)))) -}}
{{- end -}}
{{- end }}

{{/* Known values without effect, a list in JSON. */}}
{{- define "gantry.notFollowed" -}}
{{- $given := .Values | toJson | fromJson -}}
{{- $names := "" -}}
{{- $all := (.Files.Get "known-values.json" | fromJson).partly -}}
{{- if dig "gpuCluster" "deployCR" false $given -}}{{- $_ := unset $all "draDriver" -}}{{- end -}}
{{- range $path, $partly := $all -}}
  {{- $section := $given -}}
  {{- range $key := splitList "." $path -}}
    {{- $section = kindIs "map" $section | ternary (get (kindIs "map" $section | ternary $section dict) $key) dict -}}
  {{- end -}}
  {{- $names = print $names (include "gantry.namesNotFollowed" (dict "value" $section "followed" $partly.followed "defaults" $partly.defaults "path" (splitList "." $path))) -}}
{{- end -}}
{{- $values := include "gantry.values" . | fromJson -}}
{{- range $name := list "toolkit" "devicePlugin" "gfd" "validator" "nodeStatusExporter" -}}
  {{- $named := dig $name "repository" "" $given | default "" -}}
  {{- if and $named (not (get $values $name).repository) (ne $named $values.operator.repository) -}}
    {{- $names = printf "%s%s.repository\n" $names $name -}}
  {{- end -}}
{{- end -}}
{{- compact (splitList "\n" $names) | uniq | toJson -}}
{{- end }}

{{/* Pod settings of the operator and the chart's hooks; tolerations are last, so that callers can add more. */}}
{{- define "gantry.operatorPod" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.operator.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.operator.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.operator.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.operator.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
tolerations:
{{- with .Values.operator.tolerations }}
{{ toYaml . | indent 2 }}
{{- end }}
  # A cluster may have only tainted GPU nodes.
  - key: nvidia.com/gpu
    operator: Exists
    effect: NoSchedule
{{- with .Values.operator.startupTaint }}
  - key: {{ . | quote }}
    operator: Exists
{{- end }}
{{- end }}

{{- define "gantry.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/*
Whether a CRD in the cluster differs from the chart's, or is missing although Helm should have installed it; empty without a
cluster. CRDs of another node feature discovery do not count.
*/}}
{{- define "gantry.definitionsDiffer" -}}
{{- $differ := false -}}
{{- if and .Release.IsInstall (lookup "v1" "Namespace" "" "kube-system") -}}
  {{- range $file, $text := .Files.Glob "crds/*.yaml" -}}
    {{- $own := $.Files.Get $file | fromYaml -}}
    {{- $there := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $own.metadata.name | default dict -}}
    {{- $ours := eq (dig "metadata" "labels" "app.kubernetes.io/managed-by" "" $there) "gpu-operator" -}}
    {{- if or (not $there) $ours (ne $own.spec.group "nfd.k8s-sigs.io") -}}
      {{- $schemas := list -}}
      {{- range $definition := list $own $there -}}
        {{- range (dig "spec" "versions" list $definition) -}}{{- $schemas = append $schemas (toJson .schema) -}}{{- end -}}
      {{- end -}}
      {{- if or (ne (len $schemas) 2) (gt (len (uniq $schemas)) 1) -}}{{- $differ = true -}}{{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if $differ -}}true{{- end -}}
{{- end }}

{{/*
A hook that installs or deletes the CRDs: a Job of manage-crds with its service account, both removed afterwards.
`.hook`: when; `.verbs`: its rights on CRDs.
*/}}
{{- define "gantry.definitionsJob" -}}
{{- $hook := dict "helm.sh/hook" .hook "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .account }}-sa
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "gantry.labels" .root | nindent 4 }}
  annotations: {{- set $hook "helm.sh/hook-weight" "0" | toYaml | nindent 4 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .account }}-role
  labels: {{- include "gantry.labels" .root | nindent 4 }}
  annotations: {{- toYaml $hook | nindent 4 }}
rules:
  - apiGroups: [apiextensions.k8s.io]
    resources: [customresourcedefinitions]
    verbs: {{ toJson .verbs }}
{{- if .root.Values.platform.openshift }}
  # User ids outside the namespace's range.
  - apiGroups: [security.openshift.io]
    resources: [securitycontextconstraints]
    resourceNames: [nonroot-v2]
    verbs: [use]
{{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .account }}-binding
  labels: {{- include "gantry.labels" .root | nindent 4 }}
  annotations: {{- toYaml $hook | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .account }}-role
subjects:
  - kind: ServiceAccount
    name: {{ .account }}-sa
    namespace: {{ .root.Release.Namespace }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .job }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "gantry.labels" .root | nindent 4 }}
    app.kubernetes.io/component: gpu-operator
  annotations: {{- set $hook "helm.sh/hook-weight" "1" | toYaml | nindent 4 }}
spec:
  backoffLimit: 2
  activeDeadlineSeconds: 240
  template:
    metadata:
      labels:
        {{- include "gantry.labels" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .job }}
    spec:
      serviceAccountName: {{ .account }}-sa
      {{- include "gantry.operatorPod" .root | nindent 6 }}
      restartPolicy: Never
      containers:
        - name: {{ .container }}
          image: {{ include "gantry.image" .root }}
          imagePullPolicy: {{ .root.Values.operator.imagePullPolicy }}
          command: [manage-crds, {{ .command }}]
          args:
            {{- range $file, $_ := .root.Files.Glob "crds/*.yaml" }}
            - --filepath=/opt/gpu-operator/{{ base $file }}
            {{- end }}
          securityContext:
            {{- include "gantry.containerSecurity" .root | nindent 12 }}
{{- end }}
