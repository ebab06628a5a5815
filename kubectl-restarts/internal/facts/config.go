package facts

import (
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// Config is a config of which the metadata was read.
type Config struct {
	*content.Config
	// Mistakes are as those of a [Workload].
	Mistakes string
}

// Wrong is as [Workload.Wrong], with what the id in the annotation to resume a halt has none of.
func (c *Config) Wrong(halts *Halts) string {
	values, window := "", ""
	if c.Policy != nil {
		values, window = c.Policy.Problem, c.Policy.Window
	}
	return text.Join("; ", c.Mistakes, values, windowProblem(window), halts.wrongResume(c.Config))
}

// ConfigName names a config as kubectl does.
func ConfigName(ref names.ConfigRef) string { return ref.NameWithin() }
