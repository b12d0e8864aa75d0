{{- define "yardmaster.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* What every name begins with: at most 46 characters, which leaves 17 of a Service's 63 for "-operator-metrics". What is
     longer ends in its hash, so that two releases that begin alike do not share names. */}}
{{- define "yardmaster.fullname" -}}
{{- $name := .Values.fullnameOverride -}}
{{- if not $name -}}
{{- $name = printf "%s-%s" .Release.Name (include "yardmaster.name" .) -}}
{{- if contains (include "yardmaster.name" .) .Release.Name }}{{ $name = .Release.Name }}{{ end -}}
{{- end -}}
{{- if gt (len $name) 46 -}}
{{- $name = printf "%s-%s" ($name | trunc 37 | trimSuffix "-") (sha256sum $name | trunc 8) -}}
{{- end -}}
{{- $name | trimSuffix "-" -}}
{{- end -}}

{{/* The two labels that never change: what selectors may use. Takes (list $ "component"). */}}
{{- define "yardmaster.selector" -}}
app.kubernetes.io/name: {{ include "yardmaster.name" (index . 0) }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "yardmaster.labels" -}}
{{- $ := index . 0 -}}
{{ include "yardmaster.selector" . }}
app.kubernetes.io/version: {{ $.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: yardmaster
app.kubernetes.io/managed-by: {{ $.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $.Chart.Name $.Chart.Version | replace "+" "_" }}
{{- with $.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Name of a component's ServiceAccount. Takes (list $ "component"). */}}
{{- define "yardmaster.serviceAccount" -}}
{{- $ := index . 0 -}}
{{- $component := index . 1 -}}
{{- $account := (index $.Values $component).serviceAccount -}}
{{- if $account.name -}}
{{- $account.name -}}
{{- else if $account.create -}}
{{- printf "%s-%s" (include "yardmaster.fullname" $) $component -}}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{- define "yardmaster.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "yardmaster.extenderSecret" -}}
{{- if eq .Values.tls.source "existing" -}}
{{- required "tls.extenderSecret: name the Secret with tls.crt, tls.key and ca.crt" .Values.tls.extenderSecret -}}
{{- else -}}
{{- include "yardmaster.fullname" . }}-extender-tls
{{- end -}}
{{- end -}}

{{- define "yardmaster.schedulerSecret" -}}
{{- if eq .Values.tls.source "existing" -}}
{{- required "tls.schedulerSecret: name the Secret with tls.crt, tls.key and ca.crt" .Values.tls.schedulerSecret -}}
{{- else -}}
{{- include "yardmaster.fullname" . }}-scheduler-tls
{{- end -}}
{{- end -}}

{{/* "true" when agents report over streams: asked for, and there are certificates. */}}
{{- define "yardmaster.reports" -}}
{{- $named := and .Values.tls.operatorSecret .Values.tls.agentSecret -}}
{{- if and (include "yardmaster.agents" .) (.Values.agent.reports).enabled (or (ne .Values.tls.source "existing") $named) -}}
true
{{- end -}}
{{- end -}}

{{/* The Secret of a component's side of the streams. Takes (list $ "component"). */}}
{{- define "yardmaster.reportsSecret" -}}
{{- $ := index . 0 -}}
{{- if eq $.Values.tls.source "existing" -}}
{{- get $.Values.tls (printf "%sSecret" (index . 1)) -}}
{{- else -}}
{{- include "yardmaster.fullname" $ }}-{{ index . 1 }}-tls
{{- end -}}
{{- end -}}

{{/* The certificates that the operator makes, as its flag --certificate has them and as a JSON list; empty: it makes none. The
     first is the extender's, whose authority the gate webhook trusts. */}}
{{- define "yardmaster.certificates" -}}
{{- $fullname := include "yardmaster.fullname" . -}}
{{- $made := list -}}
{{- if eq .Values.tls.source "generated" -}}
{{- $names := concat (include "yardmaster.extenderDnsNames" . | fromJsonArray) (include "yardmaster.extenderIps" . | fromJsonArray) -}}
{{- $made = list (printf "%s-extender-tls/server/%s-extender/%s" $fullname $fullname (join "," $names)) (printf "%s-scheduler-tls/client/kube-scheduler" $fullname) -}}
{{- if include "yardmaster.reports" . -}}
{{- $made = concat $made (list (printf "%s-operator-tls/server/%s-operator/%s" $fullname $fullname (include "yardmaster.reportsHost" .)) (printf "%s-agent-tls/client/%s-agent" $fullname $fullname)) -}}
{{- end -}}
{{- end -}}
{{- $made | toJson -}}
{{- end -}}

{{- define "yardmaster.reportsHost" -}}
{{ include "yardmaster.fullname" . }}-reports.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "yardmaster.extenderHost" -}}
{{ include "yardmaster.fullname" . }}-extender.{{ .Release.Namespace }}.svc
{{- end -}}

{{/* DNS names of the extender, as a JSON list. */}}
{{- define "yardmaster.extenderDnsNames" -}}
{{- $service := printf "%s-extender" (include "yardmaster.fullname" .) -}}
{{- $names := list (printf "%s.%s.svc" $service .Release.Namespace) (printf "%s.%s" $service .Release.Namespace) (printf "%s.%s.svc.cluster.local" $service .Release.Namespace) -}}
{{- concat $names .Values.tls.extraDnsNames | toJson -}}
{{- end -}}

{{/* IP addresses of the extender, as a JSON list. */}}
{{- define "yardmaster.extenderIps" -}}
{{- $ips := .Values.tls.extraIpAddresses -}}
{{- with .Values.extender.service.clusterIP }}{{ if ne . "None" }}{{ $ips = append $ips . }}{{ end }}{{ end -}}
{{- $ips | toJson -}}
{{- end -}}

{{- define "yardmaster.commonArgs" -}}
- --metrics-bind-address=:8080
- --health-bind-address=:8081
- --log-format={{ .Values.log.format }}
- --verbosity={{ .Values.log.verbosity }}
{{- end -}}

{{- define "yardmaster.kubeApiArgs" -}}
- --kube-api-qps={{ .Values.kubeApi.qps }}
- --kube-api-burst={{ .Values.kubeApi.burst }}
{{- end -}}

{{- define "yardmaster.traceArgs" -}}
{{- with (.Values.traces | default dict).endpoint }}
- --otlp-endpoint={{ . }}
{{- end }}
{{- if (.Values.traces | default dict).caSecret }}
- --otlp-ca-file=/etc/yardmaster/otlp/ca.crt
{{- end }}
{{- end -}}

{{- define "yardmaster.traceMount" -}}
{{- if (.Values.traces | default dict).caSecret }}
- {name: otlp-ca, mountPath: /etc/yardmaster/otlp, readOnly: true}
{{- end }}
{{- end -}}

{{- define "yardmaster.traceVolume" -}}
{{- with (.Values.traces | default dict).caSecret }}
- name: otlp-ca
  secret: {secretName: {{ . }}, defaultMode: 0440, items: [{key: ca.crt, path: ca.crt}]}
{{- end }}
{{- end -}}

{{- define "yardmaster.leaderArgs" -}}
- --leader-elect
- --leader-elect-resource-namespace={{ (index . 0).Release.Namespace }}
- --leader-elect-resource-name={{ include "yardmaster.fullname" (index . 0) }}-{{ index . 1 }}
{{- end -}}

{{- define "yardmaster.probes" -}}
livenessProbe:
  httpGet: {path: /healthz, port: health}
  periodSeconds: 10
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 5
  failureThreshold: 2
{{- end -}}

{{/* Of a Deployment's pods: what the restricted Pod Security Standard asks for. */}}
{{- define "yardmaster.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* Whether the agent needs to be root on its host: "true" or nothing. */}}
{{- define "yardmaster.agentIsRoot" -}}
{{- if or .Values.agent.podResources .Values.agent.readShimReports .Values.agent.readCheckpointMarks (ne .Values.agent.defaultTrafficClass nil) -}}
true
{{- end -}}
{{- end -}}

{{- define "yardmaster.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Replicas of a Deployment stand apart where they can. Takes (list $ "component"). */}}
{{- define "yardmaster.spread" -}}
{{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
- topologyKey: {{ $key }}
  maxSkew: 1
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "yardmaster.selector" $ | nindent 6 }}
{{- end }}
{{- end -}}

{{/* In CEL, whether `pod` asks for a gang, as pkg/api/rank_resolver.h (WantsGang) has it, GPUs apart. */}}
{{- define "yardmaster.asksForAGang" -}}
(pod.spec.?schedulingGates.orValue([]).exists(g, g.name == 'yardmaster.dev/placement') ||
       (has(pod.metadata.annotations) && 'yardmaster.dev/parallelism' in pod.metadata.annotations) ||
       (has(pod.metadata.labels) && 'yardmaster.dev/job' in pod.metadata.labels))
{{- end -}}

{{/* The annotations of pods that an agent writes under these values, as a JSON list. */}}
{{- define "yardmaster.agentPodAnnotations" -}}
{{- $names := list "yardmaster.dev/profile" "yardmaster.dev/progress" -}}
{{- if .Values.agent.readShimReports }}{{ $names = append $names "yardmaster.dev/connections" }}{{ end -}}
{{- if .Values.agent.readCheckpointMarks }}{{ $names = append $names "yardmaster.dev/checkpoint" }}{{ end -}}
{{- $names | toJson -}}
{{- end -}}

{{/* What the policies of priorities know of a namespace: the limit, and the classes that may be above it. */}}
{{- define "yardmaster.priorityVariables" }}
variables:
- name: notes
  expression: "has(namespaceObject.metadata.annotations) ? namespaceObject.metadata.annotations : {}"
- name: limit
  expression: >-
    'yardmaster.dev/max-priority' in variables.notes &&
    variables.notes['yardmaster.dev/max-priority'].matches('^[0-9]{1,9}$') ?
    int(variables.notes['yardmaster.dev/max-priority']) : {{ .Values.priorityPolicy.max | int64 }}
- name: classes
  expression: >-
    ({{ .Values.priorityPolicy.classes | default list | toJson | replace "\"" "'" }} +
     ('yardmaster.dev/priority-classes' in variables.notes ?
      variables.notes['yardmaster.dev/priority-classes'].split(',').map(c, c.trim()) : [])).filter(c,
      !c.startsWith('system-'))
{{- end }}
