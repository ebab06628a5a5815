package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The rules about the state at the end.
const (
	Lost        = "lost"
	Disagreeing = "disagreeing"
)

// secondsAreWhole is how far apart two times of the API can be and yet mean the same
// moment: they are rounded down, and one machine's second is another's next.
const secondsAreWhole = 2 * time.Second

// judgePods finds pods that run with something else than the last content.
func (m *Model) judgePods() (found []Violation) {
	for i := range m.pods {
		pod := &m.pods[i]
		h := m.history(pod.Workload)
		if !h.exists() {
			continue
		}
		lives := h.lives()
		if life := lives[len(lives)-1]; life[len(life)-1].isUpToDate() {
			found = append(found, m.judgePod(pod, life)...)
		}
	}
	return found
}

// isUpToDate reports whether all pods are to have the last content.
func (s *Sight) isUpToDate() bool { return s.Enabled && !s.Paused && s.WantsPods }

// judgePod finds the first content that a pod has not seen.
func (m *Model) judgePod(pod *Pod, life []Sight) []Violation {
	optedIn, last := optInOf(life), &life[len(life)-1]
	for i := range last.Uses {
		u := &last.Uses[i]
		missed := m.missed(u, pod, optedIn)
		switch {
		case missed == nil:
		case m.isUnknowable(u, pod, life):
			m.tally.Unknowable++
		default:
			return []Violation{{pod.Workload, Lost, missed.End, fmt.Sprintf(
				"pod %s, created at %s and started at %s, has not seen the change of %s %s at %s (opted in at %s, last restarted at %s)",
				pod.Name, clock(pod.Created), clock(pod.Started), u.Config.Kind, u.Config.Name, clock(missed.End), clock(optedIn), clock(last.RestartedAt))}}
		}
	}
	return nil
}

// optInOf is when the last spell of being enabled began.
func optInOf(life []Sight) time.Time {
	since := life[len(life)-1].At
	for i := range slices.Backward(life) {
		if !life[i].Enabled {
			return since
		}
		since = life[i].At
	}
	return life[0].Created
}

// missed returns the last change that a pod has not seen and ought to have, nil if
// there is none. A pod is given the benefit of the doubt: it may have read a config at
// any time from its creation to the second after its containers' start.
func (m *Model) missed(u *Use, pod *Pod, optedIn time.Time) *Edit {
	edits := m.configs[u.Config]
	if len(edits) == 0 || edits[len(edits)-1].Content == nil {
		return nil // a config that is gone is no reason to restart
	}
	final := u.visible(edits[len(edits)-1].Content)
	changes := m.changes(u)
	last := &changes[len(changes)-1]
	// What changed before the opt-in is not the controller's business.
	if last.End.Before(optedIn.Add(secondsAreWhole)) {
		return nil
	}
	if slices.Contains(mayHaveRead(u, edits, pod.Created, pod.readUntil()), final) {
		return nil
	}
	return last
}

// readUntil returns until when a pod may have read its configs.
func (p *Pod) readUntil() time.Time {
	if p.Started.After(p.Created) {
		return p.Started.Add(secondsAreWhole)
	}
	return p.Created.Add(secondsAreWhole)
}

// mayHaveRead returns what a pod can have seen of a config that it read between two
// times. One that found no config has waited for the next, unless it is optional.
func mayHaveRead(u *Use, edits []Edit, from, to time.Time) (contents []string) {
	waits := !u.Optional && edits[0].Begin.After(from)
	if u.Optional && edits[0].End.After(from) {
		contents = append(contents, "")
	}
	for i := range edits {
		e := &edits[i]
		replaced := i+1 < len(edits) && edits[i+1].End.Before(from)
		switch isCurrent := !replaced && !e.Begin.After(to); {
		case !isCurrent && !waits:
		case e.Content != nil:
			contents = append(contents, u.visible(e.Content))
			waits = false
		case u.Optional:
			contents = append(contents, "")
		default:
			waits = true
		}
	}
	return contents
}

// judgeRecords finds records that call the same content by different names.
func (m *Model) judgeRecords() (found []Violation) {
	type label struct {
		text string
		of   WorkloadRef
	}
	labels := map[string]label{}
	for ref, h := range m.workloads {
		if !h.exists() {
			continue
		}
		last := &h.sights[len(h.sights)-1]
		if !last.Enabled {
			continue
		}
		for i := range last.Uses {
			u := &last.Uses[i]
			edits := m.configs[u.Config]
			if len(edits) == 0 || edits[len(edits)-1].Content == nil {
				continue // the record keeps what its pods have of it
			}
			text, recorded := last.Record[u.recordName()]
			if !recorded {
				found = append(found, Violation{ref, Disagreeing, last.At, "it has no record of " + u.Config.Kind + " " + u.Config.Name})
				continue
			}
			view := fmt.Sprint(u.Config, "\n", u.visible(edits[len(edits)-1].Content))
			switch other, known := labels[view]; {
			case !known:
				labels[view] = label{text, ref}
			case other.text != text:
				found = append(found, Violation{ref, Disagreeing, last.At, fmt.Sprintf("its record of %s %s is %s, that of %s %s, which sees the same, is %s",
					u.Config.Kind, u.Config.Name, text, other.of.Kind, other.of.Name, other.text)})
			}
		}
	}
	return found
}

// clock shows a time of the day in stories.
func clock(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return strings.TrimSuffix(t.UTC().Format("15:04:05.000"), ".000")
}
