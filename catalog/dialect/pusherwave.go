package dialect

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/glob"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// The annotations of wave; see https://github.com/wave-k8s/wave.
const (
	WaveEnabled         = "wave.pusher.com/update-on-config-change"
	waveExtraConfigMaps = "wave.pusher.com/extra-configmaps"
	waveExtraSecrets    = "wave.pusher.com/extra-secrets"
)

// readWave reads the annotations of wave, which are on the workload itself.
func readWave(parts *workload.Parts) said {
	var s said
	if parts.Meta.Annotations[WaveEnabled] != "true" {
		return s
	}
	s.choice, s.by = annotation.OptsIn, []string{WaveEnabled}
	s.readExtra(names.ConfigMap, waveExtraConfigMaps, parts.Meta)
	s.readExtra(names.Secret, waveExtraSecrets, parts.Meta)
	s.limit()
	return s
}

// readExtra reads which configs count that no container refers to: NAME or NAMESPACE/NAME, separated by commas.
func (s *said) readExtra(kind names.ConfigKind, annotation string, meta *metav1.ObjectMeta) {
	for _, text := range namesIn(meta.Annotations[annotation]) {
		name := strings.TrimPrefix(text, meta.Namespace+"/")
		for part := range strings.SplitSeq(name, "/") {
			if err := glob.CheckName(part); err != nil || strings.Count(name, "/") > 1 {
				s.reject(annotation, "%.60q is neither a name nor a namespace and a name, so it does not count", text)
				name = ""
			}
		}
		if name != "" {
			s.also = append(s.also, kind.String()+"/"+name)
		}
	}
}
