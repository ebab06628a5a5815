package model

import (
	"slices"
	"time"
)

// A content can come back. What the record says is true again then, but a pod that started in between
// has read something else.

// Watched takes in that between two times nothing kept the controllers from seeing every content at
// once: no fault, and no kill until a while later. Only then must they know of a content that has
// gone again, of which the record says nothing.
func (m *Model) Watched(from, to time.Time) { m.watched = append(m.watched, span{from, to}) }

// span is an interval of time.
type span struct{ from, to time.Time }

// and returns what two spans have in common. It ends before it begins if that is nothing.
func (s span) and(other span) span {
	if other.from.After(s.from) {
		s.from = other.from
	}
	if other.to.Before(s.to) {
		s.to = other.to
	}
	return s
}

func (m *Model) isWatched(from, to time.Time) bool {
	return slices.ContainsFunc(m.watched, func(s span) bool { return !from.Before(s.from) && !to.After(s.to) })
}

// SeePod takes in a pod as it is now. What is later seen of the same pod replaces that.
func (m *Model) SeePod(p Pod) {
	h := m.history(p.Workload)
	if h.pods == nil {
		h.pods = map[podKey]Pod{}
	}
	h.pods[podKey{p.Name, p.Created.Unix()}] = p
}

// podKey names a pod. The name alone is not enough: those of a StatefulSet come again.
type podKey struct {
	name    string
	created int64
}

// hasStarted reports whether a pod may have read its configs in a span.
func (h *history) hasStarted(s span) bool {
	for _, pod := range h.pods {
		if !pod.Created.After(s.to) && (pod.Started.IsZero() || !pod.Started.Before(s.from.Add(-secondsAreWhole))) {
			return true
		}
	}
	return false
}

// readOther reports whether the content of a config had come back before a restart, and a pod may have
// started meanwhile, since the last restart or record.
func (r *replay) readOther(s *Sight) bool {
	between := span{r.recorded.Add(-r.options.Lag), s.RestartedAt}
	if r.restarted.After(between.from) {
		between.from = r.restarted
	}
	for i := range r.uses {
		contents := r.contentsUntil(&r.uses[i], s.RestartedAt)
		if r.startedWithGone(&r.uses[i], contents, between) {
			return true
		}
		for present := range slices.Backward(contents) {
			if r.startedWithOther(&r.uses[i], contents[:present+1], between) {
				return true
			}
			if contents[present].End.Before(s.RestartedAt.Add(-r.options.Lag)) {
				break // the controller must have learned of it
			}
		}
	}
	return false
}

// startedWithOther reports whether a pod may have started in a span while the content was another
// one than after the last edit, which has come back. The controller may have learned of that late.
func (r *replay) startedWithOther(u *Use, contents []Edit, between span) bool {
	last := len(contents) - 1
	isPresent := func(e Edit) bool { return u.visible(e.Content) == u.visible(contents[last].Content) }
	for i := range last {
		other := between.and(span{contents[i].Begin, contents[i+1].End.Add(r.options.Lag)})
		if other.to.After(other.from) && !isPresent(contents[i]) && slices.ContainsFunc(contents[:i], isPresent) && r.history.hasStarted(other) {
			return true
		}
	}
	return false
}

// startedWithGone reports whether a pod may have started in a span with a content that was made in it, if the config is gone at
// its end: no record need have that content, and whatever the config comes back with, the pod has another one.
func (r *replay) startedWithGone(u *Use, contents []Edit, between span) bool {
	edits := r.configs[u.Config]
	last := countBegun(edits, between.to) - 1
	if len(contents) < 2 || u.Optional || edits[last].Content != nil {
		return false
	}
	first := slices.IndexFunc(contents[1:], func(e Edit) bool { return e.Begin.After(between.from) }) + 1
	if first == 0 {
		return false
	}
	made := between.and(span{contents[first].Begin, edits[last].End.Add(r.options.Lag)})
	return made.to.After(made.from) && r.history.hasStarted(made)
}

// contentsUntil returns the edits begun before a time after each of which a pod that starts reads
// something else. Those that can start without a config read nothing of one that is gone.
func (m *Model) contentsUntil(u *Use, at time.Time) (contents []Edit) {
	edits := m.configs[u.Config]
	for _, e := range edits[:countBegun(edits, at)] {
		n := len(contents)
		if (u.Optional || e.Content != nil) && (n == 0 || u.visible(e.Content) != u.visible(contents[n-1].Content)) {
			contents = append(contents, e)
		}
	}
	return contents
}

// countBegun counts the edits that were begun before a time.
func countBegun(edits []Edit, at time.Time) int {
	if later := slices.IndexFunc(edits, func(e Edit) bool { return !e.Begin.Before(at) }); later >= 0 {
		return later
	}
	return len(edits)
}

// cameBack reports whether the content of a config came back before a restart, to what it was at any
// time before, and that not so long before the last record that the controller must have known.
func (r *replay) cameBack(config string, s *Sight) bool {
	for i := range r.uses {
		u := &r.uses[i]
		if config != u.recordName() {
			continue
		}
		seen := map[string]bool{}
		for _, change := range r.contentsUntil(u, s.RestartedAt) {
			if seen[u.visible(change.Content)] && change.End.After(r.recorded.Add(-r.options.Stall)) {
				return true
			}
			seen[u.visible(change.Content)] = true
		}
	}
	return false
}

func (u *Use) recordName() string { return u.Config.Kind + "/" + u.Config.Name }

// isUnknowable reports whether nobody could know that a pod has read something else than the final
// content: that was the content before, too, and has come back, while the controllers could not see all of
// it, and the record has said the same all the time.
func (m *Model) isUnknowable(u *Use, pod *Pod, life []Sight) bool {
	edits, from, to := m.configs[u.Config], pod.Created, pod.readUntil()
	first, last := max(0, countEnded(edits, from)-1), countBegun(edits, to)-1
	if last < first {
		return false
	}
	final := u.visible(edits[len(edits)-1].Content)
	isFinal := func(e Edit) bool { return e.Content != nil && u.visible(e.Content) == final }
	back := slices.IndexFunc(edits[last:], isFinal)
	return back >= 0 && slices.ContainsFunc(edits[:first], isFinal) && !hasRecorded(life, u.recordName(), edits[last].Begin) &&
		!m.isWatched(edits[first].Begin, edits[last+back].End)
}

// countEnded counts the edits that were carried out before a time.
func countEnded(edits []Edit, at time.Time) int {
	if later := slices.IndexFunc(edits, func(e Edit) bool { return !e.End.Before(at) }); later >= 0 {
		return later
	}
	return len(edits)
}

// hasRecorded reports whether the record of a config has changed since a time.
func hasRecorded(life []Sight, config string, since time.Time) bool {
	for i := 1; i < len(life); i++ {
		if life[i].At.After(since) && life[i].Record[config] != life[i-1].Record[config] {
			return true
		}
	}
	return false
}
