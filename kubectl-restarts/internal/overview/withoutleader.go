package overview

import (
	"slices"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// Without the leader, the metadata of a config show when each key was edited, and a record when it was made. A manager's
// write of one key also dates its others, so the content of a ConfigMap decides if it can be read. The checksums of
// Secrets cannot be compared.

// Suspects returns the ConfigMaps that were edited after a record of a workload that reads them was made, and those with
// halts. Their content decides whether the edit matters, or the halt is over. There are none if the leader was asked.
func Suspects(in *Input) []names.ConfigRef {
	l, found := newLook(in), make(map[names.ConfigRef]bool)
	for i := range in.Workloads {
		w := &in.Workloads[i]
		for _, ref := range w.Configs() {
			if at := l.editedAt(w, ref); !at.IsZero() && !ref.Kind.IsSecret() {
				found[ref] = true
			}
		}
	}
	for i := range in.Halts.Active {
		if ref := in.Halts.Active[i].Config; in.Leader == nil && l.configs[ref] != nil && ref.Kind == names.ConfigMap {
			found[ref] = true
		}
	}
	all := make([]names.ConfigRef, 0, len(found))
	for ref := range found {
		all = append(all, ref)
	}
	slices.SortFunc(all, func(a, b names.ConfigRef) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// editedAt returns when a key of a config that the workload reads was edited after its record was made, zero if none was,
// or if there is no record to compare with.
func (l *look) editedAt(w *facts.Workload, ref names.ConfigRef) time.Time {
	config := l.config(ref)
	if l.Leader != nil || config == nil {
		return time.Time{}
	}
	return w.EditedAfterRecord(config)
}

// behind says which config was edited after the record of a workload was made, and when at the latest; nothing if none was. Each
// write of a manager hides when it wrote before.
func (l *look) behind(w *facts.Workload) (since time.Time, why string) {
	for _, ref := range w.Configs() {
		at := l.editedAt(w, ref)
		content := l.Contents[ref]
		switch {
		case at.IsZero():
		case content == nil:
			return at, facts.ConfigName(ref) + " was edited after the record was made"
		default:
			if isRecorded, isSame := w.Recorded(content); isRecorded && !isSame {
				return at, facts.ConfigName(ref) + " differs from the record"
			}
		}
	}
	return time.Time{}, ""
}

// lacks says which config does not exist that new pods of a workload need; nothing if all do, or if the leader was asked.
func (l *look) lacks(w *facts.Workload) string {
	if l.Leader != nil || w.Idle {
		return ""
	}
	return w.Lacks(func(ref names.ConfigRef) bool { return l.isKnown(ref) && l.config(ref) == nil })
}

// unknown says why nothing shows how a workload is; empty if something does, if it wants no pods, or if the leader was asked.
func (l *look) unknown(w *facts.Workload) string {
	if l.Leader != nil || w.Idle {
		return ""
	}
	unread := l.unread(w)
	switch {
	case !w.Record.Trusted && len(w.References) > 0:
		return "no trusted record says what its pods have read"
	case unread == "" && w.Rollout.ByPods:
		return "its status does not say whether its pods run"
	}
	return unread
}

// unread says which config of a workload was not looked at, so that it is not known whether anything is due; empty if all were.
func (l *look) unread(w *facts.Workload) string {
	for _, ref := range w.Configs() {
		switch name := facts.ConfigName(ref); {
		case l.isKnown(ref), ref.Kind.IsPerPod():
		case l.Unlisted[ref.Kind]:
			return "you may not list what it reads: " + name
		default:
			return name + " is of another namespace; -A looks at all"
		}
	}
	return ""
}
