package receipt

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/overview"
)

// What the controller says of a workload whose dates show nothing: its record, or the leader.

// hasOthers reports whether there are more pods than a Deployment counts as those of its ReplicaSets, which it knows only by their names.
func (g *group) hasOthers() bool {
	r := &g.workload.Rollout
	return g.workload.Ref.Kind == names.Deployment && g.stay > int(r.Updated+r.Outdated)
}

// isOfOneTemplate reports whether the status of a workload says that all of the pods are of its present template, and no more than it has.
func (g *group) isOfOneTemplate() bool {
	w, r := g.workload, &g.workload.Rollout
	switch {
	case w.Deleting, r.Outdated > 0:
		return false
	case w.Hold == workload.PartlyPartitioned && !r.Completed:
		return false // the numbers leave out the pods below the partition
	case r.ByPods:
		return !w.Hold.HoldsAll()
	}
	return r.Observed && !g.hasOthers()
}

// isTold reports whether the controller says of a settled workload that its pods have read what counts of the present contents,
// although dates do not show it: a write that changes only annotations has the date of an edit. It says nothing of pods that an
// earlier template has made, such as those of a paused workload. Unwatched means that the leader does not know of something.
func (j *judge) isTold(g *group, is *overview.Standing) (isTold, isUnwatched bool) {
	w := g.workload
	if !g.isOfOneTemplate() {
		return false, false
	}
	var unrecorded []*Content
	for c, missed := range g.missed {
		if missed.counts && !isRecorded(w, c, missed.read) {
			unrecorded = append(unrecorded, c)
		}
	}
	if len(unrecorded) == 0 {
		return true, false
	}
	if !is.Unlisted || j.Leader == nil {
		return false, false
	}
	return vouches(j.Leader(w.Ref), w, unrecorded)
}

// vouches reports whether the leader says, having seen a workload and these contents as they are, that nothing is due. Unwatched means
// that it knows no such workload or content. It may say nothing at all.
func vouches(said *status.Workload, w *facts.Workload, contents []*Content) (isSure, isUnwatched bool) {
	if said == nil {
		return false, false
	}
	isSure = said.State == status.Settled && said.Decision.Outcome == string(decide.Keep) && isSeen(said.ResourceVersion, w.ResourceVersion)
	for _, c := range contents {
		ref := c.in(w.Ref.Namespace)
		i := slices.IndexFunc(said.Reads.Items, func(s status.Seen) bool {
			return s.Config == ref.String() && s.Exists != nil && *s.Exists && !s.Ignored
		})
		if i < 0 {
			return false, said.Reads.More() == 0
		}
		isSure = isSure && isSeen(said.Reads.Items[i].ResourceVersion, c.ResourceVersion())
	}
	return isSure, false
}

// isSeen reports whether somebody who has seen one version of an object has seen another one.
func isSeen(version, other string) bool {
	return version != "" && !workload.IsLaterVersion(other, version)
}

// isRecorded reports whether a record has a content, and says so of what pods had read by some time: those that were there when it was
// made, unless it was made with a restart, which was to replace them.
func isRecorded(w *facts.Workload, c *Content, read time.Time) bool {
	if c.Ref.Kind.IsSecret() || !w.IsProof() || w.Record.WithRestart || read.After(w.Record.Written) || w.Record.Filter() != w.Filter() {
		return false
	}
	config := &c.Config
	if ref := c.in(w.Ref.Namespace); ref != c.Ref {
		if config = config.As(ref); config == nil {
			return false
		}
	}
	_, isSame := w.Recorded(config)
	return isSame
}
