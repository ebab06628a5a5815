package facts

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/optin"
)

// OptInRules are the rules of a controller that has noted them, and the namespaces that it watches.
type OptInRules struct {
	optin.Rules
	Namespaces string // a [optin.NamespaceSet]
}

// RulesIn returns the rules about which workloads count that controllers have noted on the ConfigMap of halts.
// Rules that cannot be read are left out.
func RulesIn(annotations map[string]string) []OptInRules {
	var all []OptInRules
	for set, note := range optin.ReadOptInNotes(annotations[annotation.OptInsAnnotation]) {
		if rules, err := note.Rules(); err == nil {
			all = append(all, OptInRules{rules, set})
		}
	}
	return all
}

// RulesFor returns the rules of the controller that watches a namespace, as far as they are known.
func RulesFor(rules []OptInRules, namespace string) *OptInRules {
	for i := range rules {
		if optin.IsInSet(namespace, rules[i].Namespaces) {
			return &rules[i]
		}
	}
	return &OptInRules{}
}

// Config returns a config with these annotations as the rules understand them.
func (r *OptInRules) Config(config content.Config, annotations map[string]string) content.Config {
	dialect.UnderstandConfig(&r.Rules, &config, annotations)
	return config
}

// WithMistakes is [OptInRules.Config] with what is wrong with the annotations and labels.
func (r *OptInRules) WithMistakes(config content.Config, meta *metav1.ObjectMeta) Config {
	config = r.Config(config, meta.Annotations)
	return Config{&config, dialect.ConfigMistakes(&r.Rules, meta)}
}

// UnreadRules stand for rules that cannot be read: Namespaces may decide about every workload that says nothing.
func UnreadRules() []OptInRules {
	return []OptInRules{{optin.Rules{ByNamespace: true}, optin.NamespaceSet(nil)}}
}

// Follow sets which workloads are enabled, and why, by the rules of the controllers that watch their namespaces. The
// Namespaces are those that could be read. Where the one that decides is missing, a workload's own annotation decides,
// and the result is true.
func Follow(workloads []Workload, rules []OptInRules, namespaces map[string]*metav1.ObjectMeta) (isDoubtful bool) {
	for i := range workloads {
		w := &workloads[i]
		isKnown := w.follow(RulesFor(rules, w.Ref.Namespace), namespaces[w.Ref.Namespace])
		w.EnabledUnknown, isDoubtful = !isKnown && !w.Enabled, isDoubtful || !isKnown
	}
	return isDoubtful
}

// follow sets whether the workload is enabled, and reports whether that is known. The metadata of the Namespace is nil
// if it is not.
func (w *Workload) follow(rules *OptInRules, meta *metav1.ObjectMeta) (isKnown bool) {
	var namespace *optin.Namespace
	if meta != nil {
		namespace = new(rules.ReadNamespace(meta))
	}
	w.Ground = rules.Ground(w.Choice, w.Ref.Namespace, namespace)
	if isKnown = w.Ground != optin.NamespaceUnknown; !isKnown {
		w.Ground = (&optin.Rules{}).Ground(w.Choice, w.Ref.Namespace, nil)
	}
	w.Enabled = w.Ground.Counts()
	if meta != nil && w.Ground == optin.NotEnabledThere && w.Mistyped == "" {
		if mistakes := dialect.NamespaceMistakes(&rules.Rules, meta); mistakes != "" {
			w.Mistyped = "on its Namespace, " + mistakes
		}
	}
	return isKnown
}
