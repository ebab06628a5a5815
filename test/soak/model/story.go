package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Story returns what happened to a workload in the order of time: the edits of its
// configs, what was seen of it, and the notes.
func (m *Model) Story(ref WorkloadRef) string {
	h := m.history(ref)
	lines := slices.Clone(m.notes)
	for _, gone := range h.gone {
		lines = append(lines, note{gone.at, "-- the workload is deleted"})
	}
	for _, revert := range h.reverts {
		lines = append(lines, note{revert.End, "   the restart timestamp is taken away, since " + clock(revert.Begin)})
	}
	included := map[ConfigRef]bool{}
	for i := range h.sights {
		var before *Sight
		if i > 0 && h.sights[i-1].UID == h.sights[i].UID {
			before = &h.sights[i-1]
		}
		s := &h.sights[i]
		if what := s.describe(before); what != "" {
			lines = append(lines, note{s.At, fmt.Sprintf("%s (version %d)", what, s.Version)})
		}
		if before == nil {
			lines = append(lines, m.storiesOf(s, included)...)
		}
	}
	if n := len(h.sights); n > 0 {
		for _, set := range m.sets[h.sights[n-1].UID] {
			lines = append(lines, note{set.At, fmt.Sprintf("   ReplicaSet %s: wants %d, %d available, gone %t (version %d)",
				set.Name, set.Replicas, set.Available, set.Gone, set.Version)})
		}
	}
	for _, pod := range h.pods {
		end := ""
		if slices.Contains(m.pods, pod) {
			end = " and runs at the end"
		}
		lines = append(lines, note{pod.Created, fmt.Sprintf("   pod %s is created, starts at %s%s", pod.Name, clock(pod.Started), end)})
	}
	for _, s := range m.watched {
		lines = append(lines, note{s.from, "## the controllers can see everything"}, note{s.to, "## … until here"})
	}
	slices.SortStableFunc(lines, func(a, b note) int { return a.at.Compare(b.at) })
	var story strings.Builder
	fmt.Fprintf(&story, "the story of %s %s:\n", ref.Kind, ref.Name)
	for _, line := range lines {
		fmt.Fprintf(&story, "  %s %s\n", line.at.UTC().Format("15:04:05.000"), line.what)
	}
	return story.String()
}

// storiesOf returns what happened to the configs that a workload uses, unless the story has them.
func (m *Model) storiesOf(s *Sight, included map[ConfigRef]bool) (lines []note) {
	for i := range s.Uses {
		u := &s.Uses[i]
		if included[u.Config] {
			continue
		}
		included[u.Config] = true
		changes := m.changes(u)
		for j := range m.configs[u.Config] {
			e := &m.configs[u.Config][j]
			mark := "·"
			if slices.ContainsFunc(changes, func(c Edit) bool { return c.Begin.Equal(e.Begin) }) {
				mark = "*" // the pods see it
			}
			lines = append(lines, note{e.End, fmt.Sprintf("%s %s %s: %s", mark, u.Config.Kind, u.Config.Name, e.What)})
		}
		lines = append(lines, m.heldStoriesOf(u.Config)...)
	}
	return lines
}

// describe returns what is new since the sight before.
func (s *Sight) describe(before *Sight) string {
	if before == nil {
		return fmt.Sprintf("++ seen first: enabled %t, wants pods %t, paused %t, created %s, restarted %s, record %v",
			s.Enabled, s.WantsPods, s.Paused, clock(s.Created), clock(s.RestartedAt), s.Record)
	}
	var news []string
	add := func(changed bool, format string, arguments ...any) {
		if changed {
			news = append(news, fmt.Sprintf(format, arguments...))
		}
	}
	add(s.restartedSince(before), "RESTARTED at %s", clock(s.RestartedAt))
	add(!maps.Equal(s.Record, before.Record), "recorded %v", s.Record)
	add(s.Enabled != before.Enabled, "enabled %t", s.Enabled)
	add(s.WantsPods != before.WantsPods, "wants pods %t", s.WantsPods)
	add(s.Paused != before.Paused, "paused %t", s.Paused)
	add(s.Template != before.Template, "another pod template")
	add(s.Terms != before.Terms, "%s", s.Terms)
	add(s.Whole != before.Whole, "whole %t", s.Whole)
	add(s.Rollout.Replicas != before.Rollout.Replicas, "%d replicas", s.Rollout.Replicas)
	add(s.Listed && len(news) > 0, "seen in a list")
	return strings.Join(news, ", ")
}

// heldStoriesOf returns what kept restarts for a config from beginning.
func (m *Model) heldStoriesOf(config ConfigRef) (lines []note) {
	for _, e := range m.terms[config] {
		lines = append(lines, note{e.End, fmt.Sprintf("  %s %s: %s", config.Kind, config.Name, e.Terms)})
	}
	for _, h := range m.halts {
		if h.Config == config {
			lines = append(lines, note{h.Since, fmt.Sprintf("  %s %s is halted for %v after %v failed (halt %s, version %d)", config.Kind, config.Name, h.Keys, h.Failed, h.ID, h.Version)},
				note{h.until, fmt.Sprintf("  … halt %s was seen last", h.ID)})
			if r, found := m.resumes[h.ID]; found {
				lines = append(lines, note{r.Begin, "  … halt " + h.ID + " is resumed"})
			}
		}
	}
	return lines
}
