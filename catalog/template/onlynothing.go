package template

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// ProblemOfOnly describes that [annotation.OnlyAnnotation] alone is why nothing counts of what a pod template reads, and what is probably
// meant; empty if it is not. The references are those that count.
func (f Filter) ProblemOfOnly(namespace string, spec *corev1.PodSpec, references []Reference) string {
	if f.Only == "" || len(references) > 0 {
		return ""
	}
	all, _ := ReferencesOf(namespace, spec, Filter{})
	rules := Filter{Only: f.Only}.Rules(namespace)
	meant := rules.only[0].meant(all)
	if len(all) == 0 || len(rules.Limit(all)) > 0 {
		return ""
	}
	return fmt.Sprintf("%.60q names nothing that the pod template reads, so no edit restarts this workload%s", f.Only, meant)
}

// meant says which of the configs that a pod template reads is probably meant by an entry that names none of them, or none of
// their keys; empty if none is near. Anyone may write very long templates, so it looks at the first configs only.
func (e Entry) meant(all []Reference) (meant string) {
	least, left := 6, annotation.MaxCompared // half letters that differ, as in nearest
	for ofOne := range names.Runs(all, OfOneConfig) {
		if left--; left < 0 {
			break
		}
		ref := ofOne[0].Config
		if longer := len(ref.Name) - len(e.name); 2*max(longer, -longer) >= least || len(e.name) > annotation.LongestCompared {
			continue
		}
		letters := annotation.Distance(e.name, ref.Name)
		differ := 2 * letters
		if ref.Kind != e.kind {
			differ++
		}
		if differ >= least || 3*letters > len(e.name) { // short names are near to everything
			continue
		}
		if least, meant = differ, "; "+ref.NameWithin()+" is probably meant"; differ == 0 {
			meant = "; it reads other keys of " + ref.NameWithin()
		}
	}
	return meant
}
