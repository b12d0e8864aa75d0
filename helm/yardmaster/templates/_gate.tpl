{{/* The newest version of MutatingAdmissionPolicy that the cluster serves; empty: none. Takes (list $ "given"): a version that
     is given is taken. What only renders knows no kinds and goes by the version of Kubernetes. */}}
{{- define "yardmaster.mutatingPolicyVersion" -}}
{{- $served := (index . 0).Capabilities.APIVersions -}}
{{- $group := "admissionregistration.k8s.io" -}}
{{- if index . 1 -}}
{{ index . 1 }}
{{- else if $served.Has (printf "%s/v1/MutatingAdmissionPolicy" $group) -}}
{{ $group }}/v1
{{- else if $served.Has (printf "%s/v1beta1/MutatingAdmissionPolicy" $group) -}}
{{ $group }}/v1beta1
{{- else if and (not ($served.Has "v1/Pod")) (semverCompare ">=1.36.0-0" (index . 0).Capabilities.KubeVersion.Version) -}}
{{ $group }}/v1
{{- end -}}
{{- end -}}

{{/* "true" where nothing is to be done. */}}
{{- define "yardmaster.observes" -}}
{{- if eq (.Values.mode | default "Enforce") "Observe" -}}
true
{{- end -}}
{{- end -}}

{{/* "true" where there are agents. */}}
{{- define "yardmaster.agents" -}}
{{- if and .Values.agent.enabled (not (include "yardmaster.observes" .)) -}}
true
{{- end -}}
{{- end -}}

{{/* The beginning of a selector: what namespaceSelector says, and the key to which further expressions are appended. */}}
{{- define "yardmaster.selectedNamespaces" -}}
{{- with (.Values.namespaceSelector | default dict).matchLabels -}}
matchLabels:
  {{- toYaml . | nindent 2 }}
{{ end -}}
matchExpressions:
{{- with (.Values.namespaceSelector | default dict).matchExpressions }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What puts pods behind the gate: "policy", "webhook", or nothing. */}}
{{- define "yardmaster.gate" -}}
{{- $gate := .Values.gatePolicy -}}
{{- $version := include "yardmaster.mutatingPolicyVersion" (list . $gate.apiVersion) -}}
{{- if or (not $gate.enabled) (include "yardmaster.observes" .) -}}
{{- else if or (eq $gate.mode "Webhook") (and (eq $gate.mode "Auto") (not $version)) -}}
webhook
{{- else -}}
policy
{{- end -}}
{{- end -}}

{{/* The same for policy and webhook: whose pods, and which. */}}
{{- define "yardmaster.gateNamespaces" -}}
namespaceSelector:
  {{- include "yardmaster.selectedNamespaces" . | nindent 2 }}
  - key: kubernetes.io/metadata.name
    operator: NotIn
    values:
    - {{ .Release.Namespace }}
    {{- range .Values.gatePolicy.excludedNamespaces }}
    - {{ . }}
    {{- end }}
{{- end -}}

{{- define "yardmaster.gateConditions" -}}
matchConditions:
- name: asks-for-a-gang
  expression: has(object.metadata.annotations) && 'yardmaster.dev/parallelism' in object.metadata.annotations
- name: has-no-gate-yet
  expression: >-
    !has(object.spec.schedulingGates) ||
    !object.spec.schedulingGates.exists(gate, gate.name == 'yardmaster.dev/placement')
# The API server refuses a gate on a pod that is bound already.
- name: is-not-bound
  expression: "!has(object.spec.nodeName) || object.spec.nodeName == ''"
{{- end -}}

{{/* The gate by webhook. Takes (list $ caBundle annotations): the authority in base64, or nothing where the operator fills it
     in, or another program because of the annotations. */}}
{{- define "yardmaster.gateWebhook" -}}
{{- $ := index . 0 }}
{{- if eq (include "yardmaster.gate" $) "webhook" }}
---
# Pods that say how they parallelise wait behind the gate until their gang is planned; for API servers without
# MutatingAdmissionPolicy. Both replicas of the extender answer, from the pod alone.
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: {{ include "yardmaster.fullname" $ }}-gate
  labels:
    {{- include "yardmaster.labels" (list $ "gate") | nindent 4 }}
  {{- with index . 2 }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
webhooks:
- name: gate.yardmaster.dev
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: {{ $.Values.gatePolicy.failurePolicy }}
  reinvocationPolicy: IfNeeded
  # The API server waits so long before it does what failurePolicy says.
  timeoutSeconds: 3
  clientConfig:
    service:
      name: {{ include "yardmaster.fullname" $ }}-extender
      namespace: {{ $.Release.Namespace }}
      path: /gate
      port: 8444
    {{- with index . 1 }}
    caBundle: {{ . }}
    {{- end }}
  rules:
  - apiGroups: [""]
    apiVersions: [v1]
    resources: [pods]
    operations: [CREATE]
    scope: Namespaced
  {{- include "yardmaster.gateNamespaces" $ | nindent 2 }}
  {{- include "yardmaster.gateConditions" $ | nindent 2 }}
{{- end }}
{{- end -}}
