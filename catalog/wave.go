package catalog

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations of wave; see https://github.com/wave-k8s/wave.
const (
	waveEnabled         = "wave.pusher.com/update-on-config-change"
	waveExtraConfigMaps = "wave.pusher.com/extra-configmaps"
	waveExtraSecrets    = "wave.pusher.com/extra-secrets"
)

// readWave reads the annotations of wave, which are on the workload itself.
func readWave(parts *Parts) said {
	var s said
	if parts.Meta.Annotations[waveEnabled] != "true" {
		return s
	}
	s.choice, s.by = OptsIn, []string{waveEnabled}
	s.readExtra(ConfigMap, waveExtraConfigMaps, parts.Meta)
	s.readExtra(Secret, waveExtraSecrets, parts.Meta)
	s.limit()
	return s
}

// readExtra reads which configs count that no container refers to: NAME or NAMESPACE/NAME, separated by commas.
func (s *said) readExtra(kind ConfigKind, annotation string, meta *metav1.ObjectMeta) {
	for _, text := range namesIn(meta.Annotations[annotation]) {
		name := strings.TrimPrefix(text, meta.Namespace+"/")
		for part := range strings.SplitSeq(name, "/") {
			if err := checkName(part); err != nil || strings.Count(name, "/") > 1 {
				s.reject(annotation, "%.60q is neither a name nor a namespace and a name, so it does not count", text)
				name = ""
			}
		}
		if name != "" {
			s.also = append(s.also, kind.String()+"/"+name)
		}
	}
}
