package workload

import (
	"slices"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// Configs returns the configs that the workload references, sorted, each once.
func (o *Object) Configs() []names.ConfigRef {
	configs := make([]names.ConfigRef, 0, len(o.References))
	for references := range names.Runs(o.References, template.OfOneConfig) {
		configs = append(configs, references[0].Config)
	}
	return configs
}

// Readers returns the containers whose starts matter to a decision, sorted, each once: those that read
// configs from their environment. If programs read configs through the API, or files that change, all
// containers matter.
func (o *Object) Readers() []string {
	var containers []string
	for _, reference := range o.References {
		switch reference.Channel {
		case template.Environment:
			containers = append(containers, reference.Container)
		case template.API:
			containers = append(containers, names.EveryContainer)
		case template.Volume:
			if reference.Config.Kind.IsPerPod() {
				containers = append(containers, names.EveryContainer)
			}
		}
	}
	slices.Sort(containers)
	return slices.Compact(containers)
}

// Unseen returns the names of the keys that a config has and that no container of the workload sees, or that do not count.
// It is sorted. The config may be nil.
func (o *Object) Unseen(config *content.Config) []string {
	if config == nil {
		return nil
	}
	return content.ChangedKeys(config.Keys, config.Seen(content.Selections(template.ReferencesTo(o.References, config.Ref))))
}

// Selects reports whether the workload reads all of these keys of a config, if the config has them. No keys mean all that it
// reads.
func (o *Object) Selects(ref names.ConfigRef, keys []string) bool {
	selects := o.KeySelector(ref)
	return selects != nil && !slices.ContainsFunc(keys, func(key string) bool { return !selects(key) })
}

// KeySelector returns a function that reports whether the workload reads a key of a config, if the config has it; nil if it reads
// none. It has sorted what the workload reads, so that very many keys can be looked at.
func (o *Object) KeySelector(ref names.ConfigRef) func(key string) bool {
	selected := content.Selections(template.ReferencesTo(o.References, ref))
	if len(selected) == 0 {
		return nil
	}
	return func(key string) bool {
		return slices.ContainsFunc(selected, func(s template.Selection) bool { return s.HasName(key) })
	}
}

// ReferencesTo returns the references to a config. The caller must not modify them.
func (o *Object) ReferencesTo(config names.ConfigRef) []template.Reference {
	return template.ReferencesTo(o.References, config)
}

// ReadAs says in which ways the containers read a config, such as "environment, files".
func (o *Object) ReadAs(config names.ConfigRef) string {
	var isRead [len(template.ChannelNames)]bool
	for _, reference := range o.ReferencesTo(config) {
		isRead[reference.Channel] = true
	}
	var ways []string
	for channel, name := range template.ChannelNames {
		if isRead[channel] {
			ways = append(ways, name)
		}
	}
	return strings.Join(ways, ", ")
}

// HasMounts reports whether the workload reads configs of which each pod has its own content.
func (o *Object) HasMounts() bool {
	last := len(o.References) - 1 // they are sorted by kind
	return last >= 0 && o.References[last].Config.Kind.IsPerPod()
}

// Ignores reports whether the workload ignores a config, which may be nil, by an annotation of the config or for the
// lack of one.
func (w *Workload) Ignores(config *content.Config) bool {
	return config != nil && w.IgnoresBy(config.Ref, config.Policy)
}

// IgnoresBy reports whether the workload ignores a config with that policy, which may be nil.
func (w *Workload) IgnoresBy(ref names.ConfigRef, policy *policy.ConfigPolicy) bool {
	if policy != nil && (policy.Ignored || policy.Marked) {
		return policy.Ignored
	}
	return w.NeedsMark(ref)
}

// NeedsMark reports whether a config counts for the workload only if an annotation of the config says so.
func (w *Workload) NeedsMark(ref names.ConfigRef) bool {
	if w.Filtering == nil || w.Filter().Marked == 0 {
		return false
	}
	references := template.ReferencesTo(w.References, ref)
	return len(references) > 0 && references[0].NeedsMark
}
