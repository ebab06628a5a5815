package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// step is a cell of a story.
type step struct {
	second      float64
	label, cell string
}

// happens lets something happen now that a cell of a story can say, and remembers it.
func (s *stage) happens(label, cell string) {
	if name, key, _ := strings.Cut(label, ":"); s.stepOf(label) == nil {
		s.writes(name, map[string]string{key: cell})
		return
	}
	s.told = append(s.told, step{s.now, label, cell})
	s.stepOf(label)(cell)
}

// writes is a write of keys of a config.
func (s *stage) writes(name string, cells map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(cells)) {
		s.told = append(s.told, step{s.now, strings.TrimSuffix(name+":"+key, ":"), cells[key]})
	}
	s.writeConfig(name, cells)
}

// repeat lets actions happen, ten seconds apart, those that are named last more often. Few kinds of actions in a history bring those
// together that matter to each other.
func (s *stage) repeat(t *rapid.T, least int, actions map[string]func(*rapid.T), often ...string) {
	kinds := rapid.Permutation(slices.Sorted(maps.Keys(actions))).Draw(t, "actions")
	repeated := map[string]func(*rapid.T){}
	add := func(as, kind string) {
		repeated[as] = func(t *rapid.T) {
			if s.now < 600 { // longer histories say no more, and take long to shorten
				s.now += 10
				actions[kind](t)
			}
		}
	}
	for _, kind := range kinds[:rapid.IntRange(least, len(kinds)).Draw(t, "kinds")] {
		add(kind, kind)
	}
	for _, kind := range often {
		add("again: "+kind, kind)
	}
	t.Repeat(repeated)
	s.now += 10
}

// carryOut does what was decided.
func (s *stage) carryOut(decision Decision) {
	switch {
	case decision.Outcome == Restart:
		s.happens("record", "restart")
	case decision.Outcome == RecordOnly:
		s.happens("record", "made")
	case decision.Verified:
		s.happens("record", "verified")
	}
}

// fail fails with a story. What it decides in the end is wrong.
func (s *stage) fail(why string, pods []*corev1.Pod) {
	s.t.Fatalf("as one of testdata/stories:\n\n%s\n\n", play(s.t, s.draw(why, pods)))
}

// draw draws what happened as a story, in which these are all pods in the end.
func (s *stage) draw(title string, pods []*corev1.Pod) string {
	steps, last := slices.Clone(s.told), "no pods"
	for _, pod := range pods {
		if running := pod.Status.ContainerStatuses[0].State.Running; running != nil {
			last, steps = "pods", append(steps, step{running.StartedAt.Sub(objecttest.Noon).Seconds(), "pods", "x"})
		} else if last == "no pods" {
			last = "pending pod"
		}
	}
	return drawSteps(title, s.readers, steps, last)
}

// drawSteps draws steps. The last row is that of the pods.
func drawSteps(title string, readers []string, steps []step, last string) string {
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.second, b.second) })
	steps = slices.Compact(steps)
	labels := []string{"second"}
	for _, step := range steps {
		if step.label != last && !slices.Contains(labels, step.label) {
			labels = append(labels, step.label)
		}
	}
	labels = append(labels, last)
	lines, at := map[string]string{}, 0
	nextColumn := func(second float64) {
		at = 0
		for _, label := range labels {
			lines[label] = cmp.Or(lines[label], label)
			at = max(at, len(lines[label])+2)
		}
		lines["second"] = fmt.Sprintf("%-*s%v", at, lines["second"], second)
	}
	nextColumn(0)
	for i, step := range steps {
		if step.second > 0 && (i == 0 || !step.isWrittenWith(steps[i-1])) {
			nextColumn(step.second)
		}
		lines[step.label] = fmt.Sprintf("%-*s%s", at, lines[step.label], step.cell)
	}
	drawn := append([]string{title}, readers...)
	for _, label := range labels {
		drawn = append(drawn, lines[label])
	}
	return strings.Join(drawn, "\n")
}

// isWrittenWith reports whether a key is written together with another one.
func (s step) isWrittenWith(other step) bool {
	name, _, isKey := strings.Cut(s.label, ":")
	return isKey && s.second == other.second && s.label != other.label && strings.HasPrefix(other.label, name+":")
}
