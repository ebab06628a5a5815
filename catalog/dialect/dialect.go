package dialect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/glob"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// read reads what a workload says in a dialect.
func read(d optin.Dialect, rules *optin.Rules, kind names.WorkloadKind, parts *workload.Parts) said {
	switch d {
	case optin.Reloader:
		return readReloader(rules, kind, parts)
	case optin.Wave:
		return readWave(parts)
	}
	return said{} // a later version has noted it
}

// said is what a workload says in a dialect.
type said struct {
	choice annotation.Choice
	// tools are those whose annotations make the choice.
	tools []string
	// by are the annotations of the workload itself that opt it in.
	by []string
	// only, ignore and also are entries of the annotations of these names.
	only, ignore, also []string
	// grace is a duration, empty if nothing is said about it.
	grace string
	// method is how it restarts.
	method   policy.Method
	problems []string
	// marked is that of the [template.Filter].
	marked names.Kinds
}

func (s *said) isSilent() bool {
	return s.choice == annotation.Unsaid && len(s.ignore) == 0 && s.grace == "" && s.method == policy.ByTemplate && len(s.problems) == 0
}

// Understand returns the parts of a workload that says in its own annotations what it said in those of other tools,
// as far as the rules understand these. Its own annotations have precedence. It does not modify the workload.
func Understand(r *optin.Rules, kind names.WorkloadKind, parts workload.Parts) workload.Parts {
	if parts.Problem != "" {
		return understandChoice(r, kind, parts)
	}
	parts.Understood.Left, parts.Understood.IsLeftHarmful = left(r, &parts)
	all := readRules(r, kind, &parts)
	if all.isSilent() {
		return parts
	}
	return saying(choosing(parts, &all), &all)
}

// understandChoice is [Understand] of a workload that cannot be restarted. All that matters is whether it is
// enabled, because that is a reason to report the problem.
func understandChoice(r *optin.Rules, kind names.WorkloadKind, parts workload.Parts) workload.Parts {
	readable := parts
	if readable.Template == nil {
		readable.Template = &corev1.PodTemplateSpec{}
	}
	all := readRules(r, kind, &readable)
	if all.choice == annotation.Unsaid {
		return parts
	}
	return choosing(parts, &all)
}

// readRules reads what a workload says in all dialects.
func readRules(r *optin.Rules, kind names.WorkloadKind, parts *workload.Parts) (all said) {
	for _, dialect := range r.Dialects {
		s := read(dialect, r, kind, parts)
		if s.choice != annotation.Unsaid {
			s.tools = []string{string(dialect)}
		}
		all = all.joined(&s)
	}
	return all
}

// joined returns what two tools say together. Each of them restarts the workload for the configs that it counts, whatever
// the other one says, so a config counts if one of them counts it.
func (s said) joined(other *said) said {
	joined := s
	switch {
	case s.isSilent(), s.choice != annotation.OptsIn && other.choice == annotation.OptsIn:
		joined = *other
	case s.choice == annotation.OptsIn && other.choice == annotation.OptsIn:
		joined.by, joined.also = slices.Concat(s.by, other.by), slices.Concat(s.also, other.also)
		joined.tools = slices.Concat(s.tools, other.tools)
		joined.ignore = slices.DeleteFunc(slices.Clone(s.ignore), func(entry string) bool { return !slices.Contains(other.ignore, entry) })
		joined.only, joined.marked = slices.Concat(s.only, other.only), s.marked|other.marked
		if s.countsAll() || other.countsAll() {
			joined.only, joined.marked = nil, 0
		}
	}
	joined.grace, joined.method = cmp.Or(s.grace, other.grace), cmp.Or(s.method, other.method)
	joined.problems = slices.Concat(s.problems, other.problems)
	joined.limit()
	return joined
}

// countsAll reports whether everything counts that the containers read, unless it is ignored.
func (s *said) countsAll() bool { return len(s.only) == 0 && s.marked == 0 }

// choosing returns the parts with annotations of their own, which make the same choice.
func choosing(p workload.Parts, s *said) workload.Parts {
	meta := *p.Meta
	meta.Annotations = maps.Clone(meta.Annotations)
	if meta.Annotations == nil {
		meta.Annotations = make(map[string]string)
	}
	p.Meta, p.Owned = &meta, p.Ownership()
	if _, found := meta.Annotations[annotation.EnabledAnnotation]; !found && s.choice != annotation.Unsaid {
		meta.Annotations[annotation.EnabledAnnotation] = map[annotation.Choice]string{annotation.OptsIn: annotation.Enabled, annotation.OptsOut: "disabled"}[s.choice]
		p.Understood.By, p.Understood.Since = strings.Join(s.tools, " and "), p.Owned.SinceAny(s.by)
	}
	return p
}

// saying returns the parts with annotations that say the same about everything but the choice. It modifies the
// annotations, so these must be a copy.
func saying(p workload.Parts, s *said) workload.Parts {
	says := p.Meta.Annotations
	p.Understood.Problem = strings.Join(s.problems, "; ")
	if _, found := says[annotation.GracePeriodAnnotation]; !found && s.grace != "" {
		says[annotation.GracePeriodAnnotation] = s.grace
	}
	if _, found := says[annotation.MethodAnnotation]; !found && s.method != policy.ByTemplate {
		says[annotation.MethodAnnotation] = string(s.method)
	}
	if !hasFilter(says) {
		p.Understood.Marked = s.marked
		for name, entries := range map[string][]string{annotation.OnlyAnnotation: s.only, annotation.IgnoreAnnotation: s.ignore, annotation.AlsoAnnotation: s.also} {
			if len(entries) > 0 {
				says[name] = strings.Join(entries, ",")
			}
		}
	}
	return p
}

// hasFilter reports whether a workload itself says which configs count. What other tools' annotations say about that
// does not matter then: parts of both would be a third thing that nobody wrote.
func hasFilter(annotations map[string]string) bool {
	for _, name := range []string{annotation.OnlyAnnotation, annotation.IgnoreAnnotation, annotation.AlsoAnnotation} {
		if _, found := annotations[name]; found {
			return true
		}
	}
	return false
}

func (s *said) reject(annotation, format string, arguments ...any) {
	if len(s.problems) < maxProblems {
		s.problems = append(s.problems, "annotation "+annotation+": "+fmt.Sprintf(format, arguments...))
	}
}

// maxProblems is how many problems of a workload's annotations are described.
const maxProblems = 3

// limit leaves out what our own annotations have no room for, so that more counts rather than less.
func (s *said) limit() {
	var isAll bool
	if s.only, isAll = limited(s.only); !isAll {
		s.only, s.marked = nil, 0
		s.problems = append(s.problems, "there are too many names and patterns of configs that count, so everything counts that the containers read")
	}
	if s.ignore, isAll = limited(s.ignore); !isAll {
		s.problems = append(s.problems, "there are too many names of configs that do not count, so the last ones count")
	}
	if s.also, isAll = limited(s.also); !isAll {
		s.problems = append(s.problems, "there are too many names of configs that count, so the last ones count only if the containers read them")
	}
}

// limited returns the entries that one annotation may have, sorted and each once, and reports whether these are all.
func limited(entries []string) (kept []string, isAll bool) {
	slices.Sort(entries)
	entries = slices.Compact(entries)
	size, globs := 0, 0
	for i, entry := range entries {
		if size += len(entry) + 1; !glob.IsLiteral(entry) {
			globs++
		}
		if size > template.MaxFilter || i == template.MaxFilterEntries || globs > template.MaxFilterGlobs {
			return entries[:i], false
		}
	}
	return entries, true
}

// UnderstandConfig makes a config say in its policy what it said in the annotations of other tools, as far as the
// rules understand these. Its own annotations have precedence.
func UnderstandConfig(r *optin.Rules, config *content.Config, annotations map[string]string) {
	if !slices.Contains(r.Dialects, optin.Reloader) {
		return
	}
	policy := policy.ConfigPolicy{}
	if config.Policy != nil {
		policy = *config.Policy
	}
	if _, found := annotations[annotation.IgnoreAnnotation]; !found {
		policy.Ignored = annotations[reloaderIgnore] == "true"
	}
	policy.Marked = annotations[ReloaderMatch] == "true"
	config.Policy = names.UnlessZero(policy)
}
