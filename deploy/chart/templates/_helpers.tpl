{{- define "gantry.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.operator.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "gantry.image" -}}
{{- $version := .Values.operator.version | default .Chart.AppVersion -}}
{{- printf "%s/%s%s%s" .Values.operator.repository .Values.operator.image (hasPrefix "sha256:" $version | ternary "@" ":") $version -}}
{{- end }}

{{/* Runs before NVIDIA's driver containers; they are of no use without it. */}}
{{- define "gantry.driverManager" -}}
{{- $version := .version | default "v0.12.0" -}}
{{- $image := .image | default "k8s-driver-manager" -}}
{{- printf "%s/%s%s%s" (.repository | default "nvcr.io/nvidia/cloud-native") $image (hasPrefix "sha256:" $version | ternary "@" ":") $version -}}
{{- end }}

{{/* A map without its empty texts, lists, maps and nulls; false and 0 stay. */}}
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

{{/* Pod settings that the operator and the chart's hooks share; tolerations are last, for more. */}}
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
  # A cluster may have nothing but tainted GPU nodes.
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
