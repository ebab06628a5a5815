package facts

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog"
)

// OptInRules are the rules of a controller that has noted them, and the namespaces that it watches.
type OptInRules struct {
	catalog.OptInRules
	Namespaces string // a [catalog.NamespaceSet]
}

// RulesIn returns the rules about which workloads count that controllers have noted on the ConfigMap of halts.
// Rules that cannot be read are left out.
func RulesIn(annotations map[string]string) []OptInRules {
	var all []OptInRules
	for set, note := range catalog.ReadOptInNotes(annotations[catalog.OptInsAnnotation]) {
		if rules, err := note.Rules(); err == nil {
			all = append(all, OptInRules{rules, set})
		}
	}
	return all
}

// RulesFor returns the rules of the controller that watches a namespace, as far as they are known.
func RulesFor(rules []OptInRules, namespace string) *OptInRules {
	for i := range rules {
		if catalog.IsInSet(namespace, rules[i].Namespaces) {
			return &rules[i]
		}
	}
	return &OptInRules{}
}

// Config returns a config with these annotations as the rules understand them.
func (r *OptInRules) Config(config catalog.Config, annotations map[string]string) catalog.Config {
	r.UnderstandConfig(&config, annotations)
	return config
}

// UnreadRules stand for rules that cannot be read: Namespaces may decide about every workload that says nothing.
func UnreadRules() []OptInRules {
	return []OptInRules{{catalog.OptInRules{ByNamespace: true}, catalog.NamespaceSet(nil)}}
}

// Doubt notes for which workloads Namespaces that cannot be read decide whether they are enabled, and reports whether
// there are any.
func Doubt(workloads []Workload, rules []OptInRules) (isAny bool) {
	for i := range workloads {
		w := &workloads[i]
		depends := slices.ContainsFunc(rules, func(r OptInRules) bool {
			willing := &catalog.Namespace{Name: w.Ref.Namespace, Choice: catalog.OptsIn, IsSelected: true}
			return catalog.IsInSet(w.Ref.Namespace, r.Namespaces) &&
				r.Counts(w.Choice, w.Ref.Namespace, nil) != r.Counts(w.Choice, w.Ref.Namespace, willing)
		})
		w.EnabledUnknown, isAny = depends && !w.Enabled, isAny || depends
	}
	return isAny
}

// Follow sets which workloads are enabled by the rules of the controller that watches their Namespace. The Namespaces
// are those that could be read; if one is missing, its workloads' own annotations decide.
func Follow(workloads []Workload, rules []OptInRules, namespaces map[string]*metav1.ObjectMeta) {
	for i := range workloads {
		w := &workloads[i]
		meta := namespaces[w.Ref.Namespace]
		for r := range rules {
			if meta != nil && catalog.IsInSet(w.Ref.Namespace, rules[r].Namespaces) {
				namespace := rules[r].ReadNamespace(meta)
				w.Enabled = rules[r].Counts(w.Choice, w.Ref.Namespace, &namespace)
			}
		}
	}
}
