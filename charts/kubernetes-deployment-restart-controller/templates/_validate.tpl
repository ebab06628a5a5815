{{/* What the schema cannot say, in words: what the controller would say of it at its start. */}}
{{- define "controller.validate" -}}
{{- if and .Values.dryRun (ne (include "controller.engine" .) "off") }}
{{- fail "dryRun writes nothing to workloads, so it excludes engine: set one of the two" }}
{{- end }}
{{- if hasSuffix ":10254" (.Values.statusAddress | default "") }}
{{- fail (printf "statusAddress must not be %s: probes and Prometheus use port 10254" .Values.statusAddress) }}
{{- end }}
{{- if regexMatch ":[^/]*$|@" .Values.image.repository }}
{{- fail (printf "image.repository must not contain a tag or a digest, as %s does: set image.tag or image.digest" .Values.image.repository) }}
{{- end }}
{{- if and .Values.monitors.serviceMonitor.enabled (not .Values.metricsService.enabled) }}
{{- fail "monitors.serviceMonitor needs metricsService: enable both, or use monitors.podMonitor" }}
{{- end }}
{{- if and .Values.monitors.serviceMonitor.enabled .Values.monitors.podMonitor.enabled }}
{{- fail "monitors.serviceMonitor and monitors.podMonitor would scrape each replica twice: enable one of them" }}
{{- end }}
{{- with .Values.restartWindow }}
{{- $problem := include "controller.problemOfWindow" . }}
{{- if $problem }}
{{- fail (printf "restartWindow: %q: %s; an example is %q" . $problem "CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h") }}
{{- end }}
{{- end }}
{{- include "controller.validateExtras" . }}
{{- end }}

{{/*
Whether the controller has the flags in extraFlags, and takes their values, also as variables in extraEnv. The flags are in
files/flags.yaml, which is made from the controller's code.
*/}}
{{- define "controller.validateExtras" -}}
{{- $flags := .Files.Get "files/flags.yaml" | fromYaml }}
{{- $byShort := dict }}
{{- $byVariable := dict }}
{{- range $name, $flag := $flags }}
{{- if $flag.short }}{{ $_ := set $byShort $flag.short $name }}{{ end }}
{{- if $flag.variable }}{{ $_ := set $byVariable $flag.variable $name }}{{ end }}
{{- end }}
{{- $durations := dict }}
{{- range .Values.extraEnv }}
{{- $name := get $byVariable .name }}
{{- if $name }}
{{- include "controller.validateSetting" (dict "of" "extraEnv" "shown" .name "name" $name "flag" (get $flags $name) "text" (.value | default "") "isEnv" true "durations" $durations) }}
{{- end }}
{{- end }}
{{- range .Values.extraFlags }}
{{- if not (regexMatch "^(--[A-Za-z]|-[A-Za-z])" .) }}
{{- fail (printf "extraFlags: %q is no flag: it must begin with two dashes, as --restart-grace-period=10s does" .) }}
{{- end }}
{{- $shown := splitList "=" . | first }}
{{- $name := trimPrefix "--" $shown }}
{{- $text := trimPrefix $shown . }}
{{- if not (hasPrefix "--" .) }}
{{- $shown = substr 0 2 . }}
{{- $name = get $byShort (substr 1 2 .) | default "?" }}
{{- $text = substr 2 -1 . }}
{{- if $text }}{{ $text = printf "=%s" (trimPrefix "=" $text) }}{{ end }}
{{- end }}
{{- if not (hasKey $flags $name) }}
{{- $advice := ternary "write the value after an =, as in --restart-grace-period=10s" "docs/flags.md lists the flags" (contains " " $shown) }}
{{- fail (printf "extraFlags: the controller has no flag %s: %s" $shown $advice) }}
{{- end }}
{{- $flag := get $flags $name }}
{{- if and (eq $text "") (ne $flag.type "switch") }}
{{- fail (printf "extraFlags: %s needs a value after an =, as in --restart-grace-period=10s" $shown) }}
{{- end }}
{{- include "controller.validateSetting" (dict "of" "extraFlags" "shown" $shown "name" $name "flag" $flag "text" (trimPrefix "=" $text) "durations" $durations) }}
{{- end }}
{{- if and $durations (not .Values.dryRun) }}
{{- $of := dict }}
{{- range $name := list "lease-duration" "renew-deadline" "retry-period" }}
{{- $full := printf "leader-elect-%s" $name }}
{{- $_ := set $of $name (get $durations $full | default (include "controller.seconds" (get $flags $full).default) | float64) }}
{{- end }}
{{- if le (get $of "renew-deadline") (mulf 1.2 (get $of "retry-period")) }}
{{- fail "extraFlags, extraEnv: --leader-elect-renew-deadline must be more than 1.2 times --leader-elect-retry-period" }}
{{- end }}
{{- if le (get $of "lease-duration") (get $of "renew-deadline") }}
{{- fail "extraFlags, extraEnv: --leader-elect-lease-duration must be more than --leader-elect-renew-deadline" }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Fails if a flag or variable belongs to a value, or has a text that the controller does not accept. The argument: of and
shown, which name it in an error, the flag with its name, its text, whether it isEnv, and durations, to which it adds.
*/}}
{{- define "controller.validateSetting" -}}
{{- $at := printf "%s: %s" .of .shown }}
{{- $value := get (dict "leader-elect" "replicas" "fan-out" "fanOut.mode" "fan-out-limit" "fanOut.limit" "fan-out-failures" "fanOut.failures"
    "fan-out-group" "fanOut.groups" "restart-window" "restartWindow" "namespace" "namespaces" "namespace-annotations" "optIn.byNamespace"
    "enable-by-default" "optIn.byDefault" "namespace-selector" "optIn.namespaceSelector" "ignore-namespace" "optIn.ignoredNamespaces"
    "understand" "optIn.understand"
    "csi" "csi" "evict" "evict" "configs" "configs" "workload" "workloads"
    "deployment-engine" "engine" "dry-run" "dryRun" "log-format" "logFormat" "status-address" "statusAddress") .name }}
{{- if $value }}
{{- fail (printf "%s must not contain %s: set the value %s instead" .of .shown $value) }}
{{- end }}
{{- if has .name (list "leader-elect-lease-name" "checksum-key-secret" "halts-config-map" "controller-namespace") }}
{{- fail (printf "%s must not contain %s: the controller has permissions only for the objects of its release, which fullnameOverride names" .of .shown) }}
{{- end }}
{{- if eq .name "version" }}
{{- fail (printf "%s must not contain %s: the controller would print its version and exit" .of .shown) }}
{{- end }}
{{- $text := .text }}
{{- if and (hasPrefix "\"" $text) (not .isEnv) }}
{{- if not (regexMatch "^\"[^\"\\\\]*\"$" $text) }}
{{- fail (printf "%s: %s has a quotation mark at its beginning only: leave it out" $at $text) }}
{{- end }}
{{- $text = trimAll "\"" $text }}
{{- end }}
{{- if and .isEnv (eq $text "") }}
{{- /* It counts as not set. */}}
{{- else if and (eq .name "listen-address") (not (hasSuffix ":10254" $text)) }}
{{- fail (printf "%s must not contain %s=%s: probes and Prometheus use port 10254" .of .shown $text) }}
{{- else if eq .flag.type "switch" }}
{{- if not (has .text (list "" "1" "t" "T" "true" "TRUE" "True" "0" "f" "F" "false" "FALSE" "False")) }}
{{- fail (printf "%s: %q is not true or false" $at .text) }}
{{- end }}
{{- else if eq .flag.type "integer" }}
{{- if not (regexMatch "^[-+]?[0-9]{1,18}$" $text) }}
{{- fail (printf "%s: %q is not a whole number" $at $text) }}
{{- end }}
{{- $least := get (dict "deployment-workers" 1 "kube-api-burst" 1) .name | default 0 }}
{{- if or (hasPrefix "-" $text) (and $least (regexMatch "^[+]?0*$" $text)) }}
{{- fail (printf "%s must be at least %d, not %s" $at $least $text) }}
{{- end }}
{{- else if eq .flag.type "number" }}
{{- if not (regexMatch "^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?$" $text) }}
{{- fail (printf "%s: %q is not a number" $at $text) }}
{{- end }}
{{- if or (le (float64 $text) 0.0) (gt (float64 $text) 2147483647.0) }}
{{- fail (printf "%s must be more than 0 and at most 2147483647, not %s" $at $text) }}
{{- end }}
{{- else if has .flag.type (list "seconds" "milliseconds") }}
{{- $unit := ternary "ms" "s" (eq .flag.type "milliseconds") }}
{{- $trimmed := trim $text }}
{{- $seconds := include "controller.seconds" (ternary (print $trimmed $unit) $trimmed (regexMatch "^[-+.0-9]*$" $trimmed)) }}
{{- if eq $seconds "" }}
{{- fail (printf "%s: %q is not a duration such as 90s, 2m or 1h30m, or a number of %s" $at $text .flag.type) }}
{{- end }}
{{- $seconds = float64 $seconds }}
{{- $isLimited := hasPrefix "restart-" .name }}
{{- if and $isLimited (gt $seconds 86400.0) }}
{{- fail (printf "%s must be at most 24h, not %s" $at $text) }}
{{- end }}
{{- if lt $seconds 0.0 }}
{{- fail (printf "%s must not be negative, but is %s" $at $text) }}
{{- end }}
{{- if and (eq .name "restart-check-period") (lt $seconds 0.001) }}
{{- fail (printf "%s must be at least 1ms, not %s" $at $text) }}
{{- end }}
{{- if and (has .name (list "restart-deadline" "leader-elect-retry-period")) (eq $seconds 0.0) }}
{{- fail (printf "%s must be more than 0" $at) }}
{{- end }}
{{- if not $isLimited }}{{ $_ := set .durations .name (print $seconds) }}{{ end }}
{{- end }}
{{- end }}

{{/* The seconds of a duration with units; nothing if the text is none. */}}
{{- define "controller.seconds" -}}
{{- if regexMatch "^[-+]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$" . -}}
{{- $units := dict "ns" 1e-9 "us" 1e-6 "µs" 1e-6 "μs" 1e-6 "ms" 1e-3 "s" 1.0 "m" 60.0 "h" 3600.0 -}}
{{- $total := 0.0 -}}
{{- range regexFindAll "[0-9.]+[a-zµμ]+" . -1 -}}
{{- $number := regexFind "^[0-9.]+" . -}}
{{- $total = addf $total (mulf (float64 $number) (get $units (trimPrefix $number .))) -}}
{{- end -}}
{{- if le $total 9.2e9 }}{{ ternary (subf 0.0 $total) $total (hasPrefix "-" .) }}{{ end -}}
{{- end -}}
{{- end }}

{{/* What is wrong with a restart window; nothing if the controller accepts it. Only it knows which time zones there are. */}}
{{- define "controller.problemOfWindow" -}}
{{- $words := regexFindAll "[^\\s\\v\\x{85}\\p{Z}]+" . -1 -}}
{{- $first := $words | first | default "" -}}
{{- $zone := regexFind "^(CRON_)?TZ=" $first -}}
{{- $name := trimPrefix $zone $first -}}
{{- $words = ternary (rest $words) $words (ne $zone "") | default list -}}
{{- $count := len $words -}}
{{- $length := $words | last | default "" -}}
{{- $seconds := include "controller.seconds" $length | default "0" | float64 -}}
{{- $schedule := $words | initial | default list -}}
{{- if eq $first "" -}}
it is empty
{{- else if and $zone (or (eq $name "Local") (not (regexMatch "^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$" $name))) -}}
{{ printf "%q is no time zone such as Europe/Berlin" $name }}
{{- else if not (or (eq $count 6) (and (eq $count 2) (hasPrefix "@" (first $words)))) -}}
{{ printf "expected six words (five fields and a duration), found %d" $count }}
{{- else if or (lt $seconds 60.0) (gt $seconds 604800.0) -}}
{{ printf "%q is not a duration from 1m to 168h, such as 90m or 6h" $length }}
{{- else if regexMatch "[^ -~]" (join " " $schedule) -}}
its schedule has characters other than printable ASCII
{{- else if eq $count 2 -}}
{{- if not (has (first $schedule) (list "@yearly" "@annually" "@monthly" "@weekly" "@daily" "@midnight" "@hourly")) -}}
{{ printf "%q is no macro such as @daily" (first $schedule) }}
{{- end -}}
{{- else -}}
{{- include "controller.problemOfSchedule" $schedule -}}
{{- end -}}
{{- end }}

{{/* What is wrong with the five fields of a cron expression. */}}
{{- define "controller.problemOfSchedule" -}}
{{- $months := list "jan" "feb" "mar" "apr" "may" "jun" "jul" "aug" "sep" "oct" "nov" "dec" -}}
{{- $fields := list
    (dict "what" "minute" "least" 0 "most" 59 "names" list "allowed" "0 to 59")
    (dict "what" "hour" "least" 0 "most" 23 "names" list "allowed" "0 to 23")
    (dict "what" "day of the month" "least" 1 "most" 31 "names" list "allowed" "1 to 31")
    (dict "what" "month" "least" 1 "most" 12 "names" $months "allowed" "1 to 12 or JAN to DEC")
    (dict "what" "weekday" "least" 0 "most" 6 "names" (list "sun" "mon" "tue" "wed" "thu" "fri" "sat") "allowed" "0 to 6 or SUN to SAT") -}}
{{- $problems := list -}}
{{- range $i, $text := . -}}
{{- $field := index $fields $i -}}
{{- include "controller.readField" (dict "text" $text "field" $field) -}}
{{- if $field.isWrong -}}
{{- $problems = append $problems (printf "%q is no %s: %s, *, or a list, range or step of these" $text $field.what $field.allowed) -}}
{{- else if not $field.values -}}
{{- $problems = append $problems "one of its fields has no values" -}}
{{- end -}}
{{- end -}}
{{- if $problems -}}
{{- first $problems -}}
{{- else -}}
{{- /* A day counts if both fields allow it, or one of them if neither has a star. */ -}}
{{- $days := index $fields 2 -}}
{{- $weekdays := index $fields 4 -}}
{{- $opens := or $days.hasStar (not $weekdays.hasStar) -}}
{{- range $month := (index $fields 3).values -}}
{{- $last := ternary 29 (ternary 30 31 (has $month (list 4 6 9 11))) (eq $month 2) -}}
{{- range $day := $days.values }}{{ if le $day $last }}{{ $opens = true }}{{ end }}{{ end -}}
{{- end -}}
{{- if not $opens }}it never opens{{ end -}}
{{- end -}}
{{- end }}

{{/* Adds to a field of a cron expression the values that its text selects, or isWrong. */}}
{{- define "controller.readField" -}}
{{- $field := .field -}}
{{- range splitList "," .text -}}
{{- if . -}}
{{- $step := regexFind "/.*$" . -}}
{{- $every := ternary "1" (include "controller.numberInField" (dict "text" (trimPrefix "/" $step) "field" dict)) (eq $step "") -}}
{{- $ends := splitList "-" (trimSuffix $step .) -}}
{{- $isAll := has (first $ends) (list "*" "?") -}}
{{- $from := ternary (print $field.least) (include "controller.numberInField" (dict "text" (first $ends) "field" $field)) $isAll -}}
{{- $to := $from -}}
{{- if or $isAll (and (eq (len $ends) 1) $step) -}}
{{- $to = print $field.most -}}
{{- else if gt (len $ends) 1 -}}
{{- $to = ternary (include "controller.numberInField" (dict "text" (last $ends) "field" $field)) "" (eq (len $ends) 2) -}}
{{- end -}}
{{- if or (eq $from "") (eq $to "") (eq $every "") (eq $every "0") -}}
{{- $_ := set $field "isWrong" true -}}
{{- else if or (lt (int $from) $field.least) (gt (int $to) $field.most) (gt (int $from) (int $to)) -}}
{{- $_ := set $field "isWrong" true -}}
{{- else -}}
{{- $_ := set $field "values" (concat ($field.values | default list) (untilStep (int $from) (add1 $to | int) (int $every))) -}}
{{- if and $isAll (eq $every "1") }}{{ $_ := set $field "hasStar" true }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* A number or a name in a field, as a number; nothing if it is neither. */}}
{{- define "controller.numberInField" -}}
{{- $text := lower .text -}}
{{- if has $text (.field.names | default list) -}}
{{- range $i, $name := .field.names }}{{ if eq $name $text }}{{ add $i $.field.least }}{{ end }}{{ end -}}
{{- else if regexMatch "^[+]?[0-9]{1,18}$" $text -}}
{{- regexReplaceAll "^[+]?0*" $text "" | default "0" -}}
{{- end -}}
{{- end }}
