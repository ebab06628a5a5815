package catalog

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Running returns the workloads that run with the present content of a config already and take part
// in the fan-out of one moment, in no particular order. For a moment of a watch, these are the
// readers that see an edit of that moment. For 0, which stands for all edits that no watch showed,
// they are the workloads whose record says that they restarted for the config after the last such
// edit. They have all the pods that they want; the others prove nothing. Those of the latter that have been restarted for the
// content and lack pods have failed.
//
// It costs about as much as a decision about each workload that references the config.
func (l *Lookup) Running(config names.ConfigRef, moment names.Sequence) (running []Runner, failed []names.WorkloadRef) {
	l.mu.RLock()
	present, key, readers := l.present(config), l.key, l.readersOf(config)
	l.mu.RUnlock()
	if present == nil || present.IsIgnored() {
		return nil, nil
	}
	edited := newSpread(present, moment, key, &l.wholes)
	for _, w := range readers {
		hasFailed := !w.IsProof() && w.LacksPods() && w.Record.Trusted && edited.isRestarted(w)
		if !w.IsProof() && !hasFailed || w.Ignores(present) {
			continue
		}
		switch selected, hasReached := edited.hasReached(w); {
		case !hasReached:
		case hasFailed:
			failed = append(failed, w.Ref)
		default:
			running = append(running, Runner{w.Ref, edited.keysIn(selected)})
		}
	}
	return running, failed
}

// Runner is a workload that runs with the present content of a config. Keys are those of the keys edited at a moment that it sees,
// sorted; nil if they are not known, or too many to name.
type Runner struct {
	Workload names.WorkloadRef
	Keys     []string
}

// spread is what the edits of one moment made of a config, on its way to the workloads that
// reference the config.
type spread struct {
	config *content.Config
	key    content.ChecksumKey
	moment names.Sequence
	// edits are those of the moment, or for 0 those that no watch showed; last is when the last of
	// them happened.
	edits  []annotation.Edit
	last   time.Time
	wholes *content.WholeChecksums
	keys   []string // those that the workload sees that was asked about last, as most others do
}

func newSpread(config *content.Config, moment names.Sequence, key content.ChecksumKey, wholes *content.WholeChecksums) *spread {
	s := &spread{config: config, key: key, moment: moment, wholes: wholes}
	for _, edit := range config.Edits {
		s.add(edit)
	}
	if creation := config.Creation(); moment > 0 {
		s.add(creation)
	} else if len(s.edits) == 0 {
		s.last = creation.At
	}
	return s
}

// add adds an edit if it belongs to the moment.
func (s *spread) add(edit annotation.Edit) {
	if edit.Seen != s.moment {
		return
	}
	s.edits = append(s.edits, edit)
	if edit.At.After(s.last) {
		s.last = edit.At
	}
}

// hasReached reports whether a workload takes part, and has the present content by its record, and which selections it
// sees of the config, few, however many containers there are.
func (s *spread) hasReached(w *workload.Workload) (selected []template.Selection, has bool) {
	ref := s.config.Ref
	if ref.Kind.IsPerPod() {
		return nil, s.isRestarted(w)
	}
	recorded, found := w.Record.Checksums[ref]
	if !found || ref.Kind.IsSecret() && (s.key.IsZero() || !w.Record.IsReadableWith(s.key)) {
		return nil, false
	}
	selected = content.Selections(template.ReferencesTo(w.References, ref))
	return selected, s.concerns(w, selected) && recorded == s.wholes.Checksum(s.config, selected, s.key)
}

func (s *spread) concerns(w *workload.Workload, selected []template.Selection) bool {
	if s.moment == 0 {
		return s.isRestarted(w)
	}
	return slices.ContainsFunc(s.edits, func(edit annotation.Edit) bool { return s.config.IsSeen(edit, selected) })
}

// keysIn returns the edited keys in the selections of a workload; see [Runner].
func (s *spread) keysIn(selected []template.Selection) []string {
	if s.moment == 0 {
		return nil
	}
	var room [names.MaxNamed]string
	keys := room[:0]
	for _, edit := range s.edits {
		switch {
		case !s.config.IsSeen(edit, selected) || slices.Contains(keys, edit.Key):
		case edit.Key == "" || len(keys) == names.MaxNamed:
			return nil
		default:
			keys = append(keys, edit.Key)
		}
	}
	if slices.Sort(keys); !slices.Equal(keys, s.keys) {
		s.keys = slices.Clone(keys)
	}
	return s.keys
}

// isRestarted reports whether the workload restarted for the config after the last of the edits.
func (s *spread) isRestarted(w *workload.Workload) bool {
	isFor := slices.ContainsFunc(w.Record.RestartedFor, func(r record.Restarted) bool { return r.Config == s.config.Ref })
	return isFor && !w.Record.Written.Before(s.last.Truncate(time.Second))
}
