{{- define "sdlfilter.labels" -}}
app.kubernetes.io/name: sdlfilter
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* What every pod has: no rights, a read-only file system, no token of the cluster's API. */}}
{{- define "sdlfilter.pod" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: config
    configMap: {name: {{ .Release.Name }}-sdlfilter}
  - name: key
    secret: {secretName: {{ .Values.key.secret }}, defaultMode: 0440, items: [{key: {{ .Values.key.file }}, path: release.key}]}
  {{- range .Values.volumes }}
  - name: {{ .name }}
    persistentVolumeClaim: {claimName: {{ .claim }}{{ if .readOnly }}, readOnly: true{{ end }}}
  {{- end }}
{{- end }}

{{- define "sdlfilter.container" -}}
name: sdlfilter
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
{{- with .Values.env }}
env: {{ toYaml . | nindent 2 }}
{{- end }}
resources: {{ toYaml .Values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: config, mountPath: /etc/sdlfilter, readOnly: true}
  - {name: key, mountPath: /run/secrets/sdlfilter, readOnly: true}
  {{- range .Values.volumes }}
  - {name: {{ .name }}, mountPath: {{ .path }}{{ if .readOnly }}, readOnly: true{{ end }}}
  {{- end }}
{{- end }}
