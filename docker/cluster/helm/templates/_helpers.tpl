{{- /*
A StatefulSet's name and a hash become a label of its pods, which has at most 63 characters. A Service has no dot in its
name.
*/ -}}
{{- define "seganet.name" -}}
{{ .Release.Name | replace "." "-" | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "seganet.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "seganet.labels" -}}
{{ include "seganet.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "seganet.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "seganet.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- /* The devices' ports: a list of name, port and protocol. */ -}}
{{- define "seganet.ports" -}}
{{- $ports := list }}
{{- range $name := list "mqtt" "coap" "coaps" "http" }}
{{- $port := index $.Values.ports $name | int }}
{{- if $port }}
{{- $ports = append $ports (dict "name" $name "port" $port "protocol" (hasPrefix "coap" $name | ternary "UDP" "TCP")) }}
{{- end }}
{{- end }}
{{- $ports | toJson }}
{{- end }}

{{- /* The part of a Service that devices reach. Takes the root, and names of its ports. */ -}}
{{- define "seganet.deviceService" -}}
{{- $service := .root.Values.service }}
type: {{ $service.type }}
{{- if ne $service.type "ClusterIP" }}
externalTrafficPolicy: {{ $service.externalTrafficPolicy }}
{{- end }}
{{- if and (eq $service.type "LoadBalancer") $service.sourceRanges }}
loadBalancerSourceRanges: {{ toJson $service.sourceRanges }}
{{- end }}
ports:
{{- range include "seganet.ports" .root | fromJsonArray }}
{{- if has .name $.names }}
  - name: {{ .name }}
    port: {{ .port }}
    targetPort: {{ .name }}
    protocol: {{ .protocol }}
    {{- $nodePort := index $service.nodePorts .name }}
    {{- if and $nodePort (ne $service.type "ClusterIP") }}
    nodePort: {{ $nodePort }}
    {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What the schema cannot check: values that belong together. Each sentence names the remedy. */ -}}
{{- define "seganet.check" -}}
{{- $values := .Values }}
{{- $set := merge (dict) $values.env $values.secretEnv }}
{{- if not $values.admin.secret }}
{{- fail "admin.secret: name a Secret with the keys user, password-hash and metrics-token. The port of the health checks needs a password." }}
{{- end }}
{{- if not (index $set "SEGANET_UPLINK_URL") }}
{{- fail "env.SEGANET_UPLINK_URL: name the cloud's broker, for example mqtts://broker.example.org:8883." }}
{{- end }}
{{- if not (or (index $set "SEGANET_DEVICE_LOGIN") (index $set "SEGANET_DEVICE_ALLOW_ANONYMOUS")) }}
{{- fail "env.SEGANET_DEVICE_LOGIN: choose how devices log in, or set env.SEGANET_DEVICE_ALLOW_ANONYMOUS to \"yes\" if only devices reach their ports." }}
{{- end }}
{{- range $name, $ := $set }}
{{- if regexMatch "^(SEGANET_(HOME|GATEWAY_ID|PROFILE|MQTT_PORT|DEVICE_HOST|LOG_DIR|(EDITOR|STATUS)_(HOST|PORT)|ADMIN_.*|METRICS_TOKEN|PRESET|KAFKA_(BROKERS|CA|SASL|USERNAME|PASSWORD)))$" $name }}
{{- fail (printf "%s: the chart sets this variable. Remove it from env and secretEnv." $name) }}
{{- end }}
{{- end }}
{{- range $name, $value := $values.env }}
{{- if hasKey $values.secretEnv $name }}
{{- fail (printf "%s is in env and in secretEnv: remove one of them." $name) }}
{{- end }}
{{- if or (regexMatch "(PASSWORD|SECRET|TOKEN)$" $name) (regexMatch "://[^/@]*:[^/@]*@" (toString $value)) }}
{{- fail (printf "env.%s is a secret: put it into a Secret, and name that in secretEnv." $name) }}
{{- end }}
{{- end }}
{{- if and $values.haproxy.enabled (not (index $set "SEGANET_DEVICE_PROXIES")) }}
{{- fail "env.SEGANET_DEVICE_PROXIES: with haproxy.enabled, set the network of the pods, for example 10.244.0.0/16." }}
{{- end }}
{{- if and $values.haproxy.enabled (not $values.ports.mqtt) }}
{{- fail "ports.mqtt: haproxy.enabled needs a port of MQTT." }}
{{- end }}
{{- $isPair := ne $values.pair.gatewayId "" }}
{{- if ne $isPair (hasKey $set "SEGANET_LOG_URL") }}
{{- fail "pair.gatewayId and env.SEGANET_LOG_URL belong together: set both for a pair, or neither." }}
{{- end }}
{{- if and $isPair (ne (int $values.replicas) 2) }}
{{- fail "replicas: a pair has 2 gateways." }}
{{- end }}
{{- if and $isPair $values.haproxy.enabled }}
{{- fail "haproxy.enabled: the devices of a pair go to the gateway that is ready, so it needs no HAProxy." }}
{{- end }}
{{- $taken := list "1880/TCP" "1881/TCP" }}
{{- range include "seganet.ports" . | fromJsonArray }}
{{- $port := printf "%v/%s" .port .protocol }}
{{- if has $port $taken }}
{{- fail (printf "ports.%s: another listener of the gateway has port %s." .name $port) }}
{{- end }}
{{- $taken = append $taken $port }}
{{- end }}
{{- if $values.flow }}
{{- if not (hasPrefix "[" (trim $values.flow)) }}
{{- fail "flow: a flow of Node-RED is a JSON array. Pass its file: --set-file flow=gateway.json." }}
{{- end }}
{{- end }}
{{- if and (or $values.kafka.topics $values.kafka.sharedTopics) (not $values.kafka.cluster) }}
{{- fail "kafka.cluster: name the Kafka object of Strimzi that gets the topics." }}
{{- end }}
{{- if and $values.kafka.topics (lt (int $values.kafka.partitions) (int $values.replicas)) }}
{{- fail "kafka.partitions: a gateway without a partition sends nothing. Set at least as many as replicas; the number must not change later." }}
{{- end }}
{{- if and (or $values.kafka.caSecret $values.kafka.userSecret) (not $values.kafka.brokers) }}
{{- fail "kafka.brokers: name the brokers that the secrets are for, such as plant-kafka-bootstrap:9093." }}
{{- end }}
{{- end }}
