package dialect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// A mistake is an annotation or a label by which a person means this controller, as its name shows, and that has no effect.
// Values of annotations that have one are checked where they are read; see [annotation.PolicyReader]. The controller joins both.

// WorkloadMistakes describes the mistakes of a workload and of its pod template; empty if there are none, as nearly always.
// The parts must be as the API shows them, before [Understand].
func WorkloadMistakes(r *optin.Rules, parts *workload.Parts) string {
	m := mistakesOf(r, parts)
	return m.describe(parts.Meta.Namespace)
}

// EnablingMistakes is [WorkloadMistakes] for those by which a person means to enable the workload.
func EnablingMistakes(r *optin.Rules, parts *workload.Parts) string {
	m := mistakesOf(r, parts)
	m.found = slices.DeleteFunc(m.found[:min(len(m.found), annotation.MaxCompared)], func(found mistake) bool { return !found.isEnabling(annotation.OnWorkload) })
	return m.describe(parts.Meta.Namespace)
}

func mistakesOf(r *optin.Rules, parts *workload.Parts) mistakes {
	m := mistakes{rules: r, on: annotation.OnWorkload, own: parts.Meta.Annotations}
	m.inspect(annotation.OnWorkload, parts.Meta.Annotations, parts.Meta.Labels)
	if parts.Template != nil {
		m.inspect(annotation.OnTemplate, parts.Template.Annotations, parts.Template.Labels)
	}
	return m
}

// ConfigMistakes is [WorkloadMistakes] for a config.
func ConfigMistakes(r *optin.Rules, meta metav1.Object) string {
	m := mistakes{rules: r, on: annotation.OnConfig, own: meta.GetAnnotations()}
	m.inspect(annotation.OnConfig, meta.GetAnnotations(), meta.GetLabels())
	return m.describe(meta.GetNamespace())
}

// NamespaceMistakes is [WorkloadMistakes] for a Namespace.
func NamespaceMistakes(r *optin.Rules, meta metav1.Object) string {
	m := mistakes{rules: r, on: annotation.OnNamespace, own: meta.GetAnnotations()}
	m.inspect(annotation.OnNamespace, meta.GetAnnotations(), meta.GetLabels())
	return m.describe(meta.GetName())
}

// mistakes collects the mistakes of an object. Whoever may write to the object chooses how many there are, so each is
// described only if it is among the first.
type mistakes struct {
	rules *optin.Rules
	on    annotation.Place  // the object
	own   map[string]string // its annotations
	found []mistake
}

// mistake is an annotation, or a label, that has no effect.
type mistake struct {
	on      annotation.Place
	isLabel bool
	name    string
	value   string
}

func (m *mistakes) inspect(on annotation.Place, annotations, labels map[string]string) {
	for name, value := range annotations {
		if m.isMistake(on, name, value) {
			m.found = append(m.found, mistake{on, false, name, value})
		}
	}
	for name, value := range labels {
		if resemblesOurs(name) && !m.isMeantElsewhere(name, value) && !(on == annotation.OnNamespace && selects(m.rules, name)) {
			m.found = append(m.found, mistake{on, true, name, value})
		}
	}
}

// isMistake reports whether an annotation is a mistake. It is called for all annotations of all objects.
func (m *mistakes) isMistake(on annotation.Place, name, value string) bool {
	if !resemblesOurs(name) {
		return lacksMeaning(m.rules, on, name, value)
	}
	counts, isKnown := annotation.Places[name]
	switch {
	case !isKnown:
		return true
	case counts&on == 0:
		return !m.isMeantElsewhere(name, value)
	case name != annotation.EnabledAnnotation:
		return false
	case on == annotation.OnNamespace && !m.rules.ByNamespace && !m.rules.ByDefault:
		return true
	}
	return value != annotation.Enabled && !slices.Contains(annotation.OptOuts, strings.ToLower(value))
}

// isMeantElsewhere reports whether the object itself has the same annotation where it counts, so that what a person means
// happens: tools add annotations to an object and its pod template alike, and labels as annotations.
func (m *mistakes) isMeantElsewhere(name, value string) bool {
	own, found := m.own[name]
	return found && own == value && annotation.Places[name]&m.on != 0
}

// selects reports whether the rules select Namespaces by a label.
func selects(r *optin.Rules, label string) bool {
	if r.Selector == nil {
		return false
	}
	requirements, _ := r.Selector.Requirements()
	for i := range requirements {
		if requirements[i].Key() == label {
			return true
		}
	}
	return false
}

// describe describes the first mistakes of an object of a namespace.
func (m *mistakes) describe(namespace string) string {
	if len(m.found) == 0 || m.rules.Ignores(namespace) {
		return ""
	}
	slices.SortFunc(m.found, func(a, b mistake) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.on, b.on), strings.Compare(a.what(), b.what()))
	})
	var r annotation.PolicyReader
	for _, found := range m.found[:min(len(m.found), maxProblems)] {
		r.Problems = append(r.Problems, found.describe(m.rules, m.on))
	}
	if more := len(m.found) - maxProblems; more > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("and %d more like these", more))
	}
	return r.Problem()
}

func (m *mistake) what() string {
	if m.isLabel {
		return "label"
	}
	return "annotation"
}

// isEnabling reports whether a person means to enable an object by a mistake on it.
func (m *mistake) isEnabling(object annotation.Place) bool {
	foreign, isForeign := switches[m.name]
	return isForeign && foreign.enables || !isForeign && m.meant(object) == annotation.EnabledAnnotation
}

// meant returns the annotation that is probably meant, empty if none is near.
func (m *mistake) meant(object annotation.Place) string {
	if _, isKnown := annotation.Places[m.name]; isKnown {
		return m.name
	}
	return nearest(m.name, object)
}

// describe says what is wrong, and what is probably meant. Whoever means a hold or an opt-in counts on it.
func (m *mistake) describe(rules *optin.Rules, object annotation.Place) string {
	what := m.diagnose(rules, object)
	switch _, isForeign := switches[m.name]; {
	case isForeign:
	case m.meant(object) == annotation.HoldAnnotation:
		what += ", so nothing is held by it"
	case m.meant(object) == annotation.EnabledAnnotation:
		what += ", so it enables nothing"
	case m.meant(object) == "":
		what += ", so it has no effect: correct or remove it"
	case annotation.Places[m.name] != 0: // otherwise it names what is meant
		what += ", so it has no effect"
	}
	return what
}

func (m *mistake) diagnose(rules *optin.Rules, object annotation.Place) string {
	what := fmt.Sprintf("%s %.100s", m.what(), m.name)
	if foreign, is := switches[m.name]; is {
		return what + fmt.Sprintf(": %.40q means nothing to %s; write %s", m.value, foreign.dialect, quoted(foreign.meant))
	}
	meant := m.meant(object)
	counts, isKnown := annotation.Places[m.name]
	switch {
	case meant == "":
		return what + ": the controller knows no such annotation"
	case isKnown:
		what += ": "
	default:
		counts, what = annotation.Places[meant], what+" looks like a misspelling of "+meant+"; "
	}
	switch {
	case m.isLabel && counts&object != 0:
		return what + "it counts as an annotation, not as a label"
	case m.on == annotation.OnTemplate && counts&object != 0:
		return what + "it counts on the workload itself, not on the pod template"
	case counts&object == 0:
		return what + "it counts only on " + counts.Named()
	case !isKnown:
		return strings.TrimSuffix(what, "; ")
	case object == annotation.OnNamespace && !rules.ByNamespace && !rules.ByDefault:
		return what + "it counts on a Namespace only if the controller runs with --namespace-annotations"
	}
	return what + fmt.Sprintf("%.40q is neither %q nor %q", m.value, annotation.Enabled, "disabled")
}

// resemblesOurs reports whether a name begins like those of the controller's annotations, give or take one letter, or has
// another form of their domain, such as xing.com/deployment-restart. It ignores case.
func resemblesOurs(name string) bool {
	if beginsLikeOurs(name) {
		return true
	}
	_, isOne := withoutDomain(name)
	return isOne
}

// withoutDomain returns what follows the product in a name, and false if the name does not have the product, give or take one
// letter, and the domain in some form. It is called for all annotations and labels of all objects.
func withoutDomain(name string) (rest string, isOne bool) {
	if len(name) > annotation.LongestCompared || strings.IndexByte(name, 'x') < 0 && strings.IndexByte(name, 'X') < 0 {
		return "", false
	}
	if name = strings.ToLower(name); !strings.Contains(name, "xing") { // as nearly always
		return "", false
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '/' })
	at := slices.IndexFunc(parts, isLikeProduct)
	if at < 0 {
		return "", false
	}
	parts = slices.DeleteFunc(slices.Delete(parts, at, at+1), func(part string) bool { return part == "com" || part == "xing" })
	return strings.Join(parts, "."), true
}

// isLikeProduct reports whether a text is the product, give or take one letter or two that are swapped. What differs is what is
// left without the same beginning and the same end.
func isLikeProduct(part string) bool {
	want := annotation.Product
	if longer := len(part) - len(want); max(longer, -longer) > 1 {
		return false
	}
	for part != "" && want != "" && part[0] == want[0] {
		part, want = part[1:], want[1:]
	}
	for part != "" && want != "" && part[len(part)-1] == want[len(want)-1] {
		part, want = part[:len(part)-1], want[:len(want)-1]
	}
	return len(part) <= 1 && len(want) <= 1 || len(part) == 2 && len(want) == 2 && part[0] == want[1] && part[1] == want[0]
}

func beginsLikeOurs(name string) bool {
	same := 0
	for same < len(annotation.Prefix) && same < len(name) && name[same]|0x20 == annotation.Prefix[same]|0x20 {
		same++
	}
	rest, want := name[same:], annotation.Prefix[same:]
	switch {
	case want == "":
		return true
	case hasPrefixFold(rest, want[1:]): // a letter is missing
		return true
	case rest == "":
		return false
	case hasPrefixFold(rest[1:], want), hasPrefixFold(rest[1:], want[1:]): // one too many, or another one
		return true
	}
	return len(rest) > 1 && len(want) > 1 && rest[0] == want[1] && rest[1] == want[0] && hasPrefixFold(rest[2:], want[2:])
}

func hasPrefixFold(s, start string) bool {
	return len(s) >= len(start) && strings.EqualFold(s[:len(start)], start)
}

// nearest returns the annotation that is probably meant by a name, empty if none is near. Those that count on the object
// come first.
func nearest(name string, object annotation.Place) string {
	if len(name) > annotation.LongestCompared {
		return ""
	}
	name = strings.ToLower(name)
	if rest, isOne := withoutDomain(name); isOne {
		name = strings.TrimSuffix(annotation.Prefix+"."+rest, ".")
	}
	best, least := "", 6 // half letters that differ
	for _, known := range slices.Sorted(maps.Keys(annotation.Places)) {
		if annotation.Places[known] == annotation.Anywhere {
			continue
		}
		differ := least
		if longer := len(name) - len(known); 2*max(longer, -longer) < least { // at least as many letters differ
			differ = 2 * annotation.Distance(name, known)
		}
		if isStart := len(name) > len(annotation.Prefix)+1 && strings.HasPrefix(known, name); isStart || known == annotation.EnabledAnnotation && strings.Contains(name, "enable") {
			differ = 1
		}
		if annotation.Places[known]&object == 0 {
			differ++
		}
		if differ < least {
			best, least = known, differ
		}
	}
	return best
}
