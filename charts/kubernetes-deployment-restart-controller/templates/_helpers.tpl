{{/*
The names of the objects do not depend on that of the release: the controller's lease, key and halts have these names, and
so have the plain manifests. A second release whose cluster-wide objects would have the same names needs other names.
*/}}
{{- define "controller.name" -}}
{{- .Values.fullnameOverride | default (include "controller.app" .) -}}
{{- end }}

{{/* What the label app.kubernetes.io/name says. */}}
{{- define "controller.app" -}}
{{- .Values.nameOverride | default "kubernetes-deployment-restart-controller" -}}
{{- end }}

{{/* The Deployment by which the engine finds out whether another controller drives Deployments. Its name is fixed. */}}
{{- define "controller.probe" -}}
kubernetes-deployment-restart-controller-probe
{{- end }}

{{/* "off", "on" or "standby". In a values file, on and off without quotes are booleans. */}}
{{- define "controller.engine" -}}
{{- get (dict "true" "on" "false" "off") (toString .Values.engine) | default (toString .Values.engine) -}}
{{- end }}

{{/* Labels and annotations of an object's metadata. The argument: root, and the object's own labels and annotations. */}}
{{- define "controller.metadata" -}}
{{- $root := .root -}}
labels:
  {{- $own := dict
    "app.kubernetes.io/name" (include "controller.app" $root)
    "app.kubernetes.io/instance" $root.Release.Name
    "app.kubernetes.io/version" $root.Chart.AppVersion
    "app.kubernetes.io/managed-by" $root.Release.Service
    "helm.sh/chart" (printf "%s-%s" $root.Chart.Name ($root.Chart.Version | replace "+" "_")) }}
  {{- merge (dict) (.labels | default dict) $own $root.Values.labels | toYaml | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) $root.Values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The pods, which a Deployment cannot change. */}}
{{- define "controller.selector" -}}
app.kubernetes.io/name: {{ include "controller.app" . }}
{{- end }}

{{/* The image, by its digest if there is one. */}}
{{- define "controller.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}{{ with .tag }}:{{ . }}{{ end }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* The rest of a binding to the controller's account. The argument: root, kind and name of the role. */}}
{{- define "controller.binding" -}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "controller.name" .root }}
    namespace: {{ .root.Release.Namespace | quote }}
{{- end }}

{{/*
The same rules in all watched namespaces: a ClusterRole and its binding, or a Role and its binding in each namespace.
The argument: root, name, and rules as YAML.
*/}}
{{- define "controller.watching" -}}
{{- $root := .root }}
{{- $name := .name }}
{{- $rules := .rules }}
{{- range $root.Values.namespaces | default (list "") }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ if . }}Role{{ else }}ClusterRole{{ end }}
metadata:
  name: {{ $name }}
  {{- with . }}
  namespace: {{ . | quote }}
  {{- end }}
  {{- include "controller.metadata" (dict "root" $root) | nindent 2 }}
rules:
  {{- $rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ if . }}RoleBinding{{ else }}ClusterRoleBinding{{ end }}
metadata:
  name: {{ $name }}
  {{- with . }}
  namespace: {{ . | quote }}
  {{- end }}
  {{- include "controller.metadata" (dict "root" $root) | nindent 2 }}
{{ include "controller.binding" (dict "root" $root "kind" (ternary "Role" "ClusterRole" (ne . "")) "name" $name) }}
{{- end }}
{{- end }}

{{/* A Role and its binding in the controller's own namespace. The argument: root, name, and rules as YAML. */}}
{{- define "controller.ownRole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace | quote }}
  {{- include "controller.metadata" (dict "root" .root) | nindent 2 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace | quote }}
  {{- include "controller.metadata" (dict "root" .root) | nindent 2 }}
{{ include "controller.binding" (dict "root" .root "kind" "Role" "name" .name) }}
{{- end }}

{{/* The resource, group and path of a kind of workload. The argument: its text, such as rollouts.v1alpha1.argoproj.io. */}}
{{- define "controller.kind" -}}
{{- $parts := splitList "=" . }}
{{- $name := splitn "." 3 (first $parts) }}
resource: {{ $name._0 }}
group: {{ $name._2 }}
path: {{ trimPrefix "." (index (append $parts ".spec.template") 1) }}
{{- end }}
