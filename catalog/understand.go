package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A cluster may have many workloads and configs that carry the annotations of another tool. What such an
// annotation asks for is put into the words of this package before anything reads the object: into the
// annotations that its owner would have written for this controller.

// Dialect is a tool whose annotations the controller understands besides its own.
type Dialect string

// The dialects.
const (
	Reloader Dialect = "reloader" // https://github.com/stakater/Reloader
	Wave     Dialect = "wave"     // https://github.com/wave-k8s/wave
)

// read reads what a workload says in a dialect.
func (d Dialect) read(rules *OptInRules, kind WorkloadKind, parts *Parts) said {
	switch d {
	case Reloader:
		return rules.readReloader(kind, parts)
	case Wave:
		return readWave(parts)
	}
	return said{} // a later version has noted it
}

// said is what a workload says in a dialect.
type said struct {
	choice Choice
	// tools are those whose annotations make the choice.
	tools []string
	// by are the annotations of the workload itself that opt it in.
	by []string
	// only, ignore and also are entries of the annotations of these names.
	only, ignore, also []string
	// grace is a duration, empty if nothing is said about it.
	grace string
	// method is how it restarts.
	method   Method
	problems []string
	// marked is that of the [Filter].
	marked Kinds
}

func (s *said) isSilent() bool {
	return s.choice == Unsaid && len(s.ignore) == 0 && s.grace == "" && s.method == ByTemplate && len(s.problems) == 0
}

// Understood is what the annotations of other tools said about a workload that is not in its annotations now.
type Understood struct {
	// By names the tools whose annotations enable or disable it, such as "reloader and wave"; empty if there are none.
	By string
	// Since is the earliest known time by which they had enabled it, zero if it is not known.
	Since time.Time
	// Problem describes which of them cannot be used; empty if there are none.
	Problem string
	// Marked is that of the [Filter].
	Marked Kinds
	// Left and IsLeftHarmful are those of the [WorkloadPolicy].
	Left          string
	IsLeftHarmful bool
}

// Understand returns the parts of a workload that says in its own annotations what it said in those of other tools,
// as far as the rules understand these. Its own annotations have precedence. It does not modify the workload.
func (r *OptInRules) Understand(kind WorkloadKind, parts Parts) Parts {
	if parts.Problem != "" {
		return r.understandChoice(kind, parts)
	}
	parts.Understood.Left, parts.Understood.IsLeftHarmful = r.left(&parts)
	all := r.read(kind, &parts)
	if all.isSilent() {
		return parts
	}
	return parts.choosing(&all).saying(&all)
}

// understandChoice is [OptInRules.Understand] of a workload that cannot be restarted. All that matters is whether it is
// enabled, because that is a reason to report the problem.
func (r *OptInRules) understandChoice(kind WorkloadKind, parts Parts) Parts {
	readable := parts
	if readable.Template == nil {
		readable.Template = &corev1.PodTemplateSpec{}
	}
	all := r.read(kind, &readable)
	if all.choice == Unsaid {
		return parts
	}
	return parts.choosing(&all)
}

// read reads what a workload says in all dialects.
func (r *OptInRules) read(kind WorkloadKind, parts *Parts) (all said) {
	for _, dialect := range r.Dialects {
		s := dialect.read(r, kind, parts)
		if s.choice != Unsaid {
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
	case s.isSilent(), s.choice != OptsIn && other.choice == OptsIn:
		joined = *other
	case s.choice == OptsIn && other.choice == OptsIn:
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
func (p Parts) choosing(s *said) Parts {
	meta := *p.Meta
	meta.Annotations = maps.Clone(meta.Annotations)
	if meta.Annotations == nil {
		meta.Annotations = make(map[string]string)
	}
	p.Meta, p.owned = &meta, p.ownership()
	if _, found := meta.Annotations[EnabledAnnotation]; !found && s.choice != Unsaid {
		meta.Annotations[EnabledAnnotation] = map[Choice]string{OptsIn: Enabled, OptsOut: "disabled"}[s.choice]
		p.Understood.By, p.Understood.Since = strings.Join(s.tools, " and "), p.owned.sinceAny(s.by)
	}
	return p
}

// saying returns the parts with annotations that say the same about everything but the choice. It modifies the
// annotations, so these must be a copy.
func (p Parts) saying(s *said) Parts {
	says := p.Meta.Annotations
	p.Understood.Problem = strings.Join(s.problems, "; ")
	if _, found := says[GracePeriodAnnotation]; !found && s.grace != "" {
		says[GracePeriodAnnotation] = s.grace
	}
	if _, found := says[MethodAnnotation]; !found && s.method != ByTemplate {
		says[MethodAnnotation] = string(s.method)
	}
	if !hasFilter(says) {
		p.Understood.Marked = s.marked
		for name, entries := range map[string][]string{OnlyAnnotation: s.only, IgnoreAnnotation: s.ignore, AlsoAnnotation: s.also} {
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
	for _, name := range []string{OnlyAnnotation, IgnoreAnnotation, AlsoAnnotation} {
		if _, found := annotations[name]; found {
			return true
		}
	}
	return false
}

// sinceAny returns the earliest known time by which the object had any of the annotations.
func (o *ownership) sinceAny(names []string) (since time.Time) {
	for _, name := range names {
		if by := earliest(o.ofAnnotation(name)); since.IsZero() || !by.IsZero() && by.Before(since) {
			since = by
		}
	}
	return since
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
		if size += len(entry) + 1; !isLiteral(entry) {
			globs++
		}
		if size > maxFilter || i == maxFilterEntries || globs > maxFilterGlobs {
			return entries[:i], false
		}
	}
	return entries, true
}
