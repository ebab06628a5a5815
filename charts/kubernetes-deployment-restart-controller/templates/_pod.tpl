{{/* The arguments of the controller. */}}
{{- define "controller.args" -}}
- --leader-elect
{{- if .Values.fullnameOverride | or .Values.nameOverride }}
- --leader-elect-lease-name={{ include "controller.name" . }}
{{- end }}
{{- range .Values.namespaces }}
- --namespace={{ . }}
{{- end }}
{{- with .Values.optIn }}
{{- if .byDefault }}
- --enable-by-default
{{- else if .byNamespace }}
- --namespace-annotations
{{- end }}
{{- with .namespaceSelector }}
- {{ printf "--namespace-selector=%s" . | quote }}
{{- end }}
{{- range .ignoredNamespaces }}
- {{ printf "--ignore-namespace=%s" . | quote }}
{{- end }}
{{- range .understand }}
- --understand={{ . }}
{{- end }}
{{- end }}
{{- range .Values.workloads }}
- {{ printf "--workload=%s" . | quote }}
{{- end }}
{{- if .Values.csi }}
- --csi
{{- end }}
{{- if .Values.evict }}
- --evict
{{- end }}
- --fan-out={{ .Values.fanOut.mode }}
{{- with .Values.fanOut }}
{{- if not (kindIs "invalid" .limit) }}
- --fan-out-limit={{ int .limit }}
{{- end }}
{{- if not (kindIs "invalid" .failures) }}
- --fan-out-failures={{ int .failures }}
{{- end }}
{{- range .groups }}
- {{ printf "--fan-out-group=%s" . | quote }}
{{- end }}
{{- end }}
{{- with .Values.restartWindow }}
- {{ printf "--restart-window=%s" . | quote }}
{{- end }}
{{- with .Values.statusAddress }}
- --status-address={{ . }}
{{- end }}
{{- if ne (include "controller.engine" .) "off" }}
- --deployment-engine={{ include "controller.engine" . }}
{{- end }}
{{- if ne .Values.configs "all" }}
- --configs={{ .Values.configs }}
{{- end }}
{{- if ne .Values.logFormat "text" }}
- --log-format={{ .Values.logFormat }}
{{- end }}
{{- if .Values.dryRun }}
- --dry-run
{{- end }}
{{- range .Values.extraFlags }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* What the Pod Security level "restricted" asks for. */}}
{{- define "controller.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}
{{- define "controller.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}
