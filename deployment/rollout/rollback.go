package rollout

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// The reasons of Events about rollbacks.
const (
	reasonRolledBack        = "DeploymentRollback"
	reasonRevisionNotFound  = "DeploymentRollbackRevisionNotFound"
	reasonTemplateUnchanged = "DeploymentRollbackTemplateUnchanged"
)

// rollbackRequest reads the request for a rollback, which old clients make with an
// annotation. Revision 0 means the previous revision.
func rollbackRequest(d *Deployment) (revision int64, requested bool) {
	revision, err := strconv.ParseInt(d.Annotations[RollbackAnnotation], 10, 64)
	return revision, err == nil
}

// rollBack orders that the Deployment's template is set back to that of a revision. The
// ReplicaSets follow in later plans, as after any change of the template.
func (p *plan) rollBack(revision int64) {
	if revision == 0 {
		if revision = p.previousRevision(); revision == 0 {
			p.giveUpRollback(reasonRevisionNotFound, "Unable to find last revision.")
			return
		}
	}
	source := p.withRevision(revision)
	switch {
	case source == nil:
		p.giveUpRollback(reasonRevisionNotFound, "Unable to find the revision to rollback to.")
	case source.Sum == p.d.Sum:
		p.giveUpRollback(reasonTemplateUnchanged,
			fmt.Sprintf("The rollback revision contains the same template as current deployment %q", p.d.Name))
	default:
		p.rollback = append(p.rollback, p.restore(source, revision))
		p.recordEvent(corev1.EventTypeNormal, reasonRolledBack, fmt.Sprintf("Rolled back deployment %q to revision %d", p.d.Name, revision))
	}
}

func (p *plan) giveUpRollback(reason, message string) {
	p.rollback = append(p.rollback, EndRollBack{})
	p.recordEvent(corev1.EventTypeWarning, reason, message)
}

// settings are annotations that stand for fields outside the template, so that a rollback leaves them.
var settings = []string{replacementAnnotation, onFailureAnnotation, stepsAnnotation, soakAnnotation, stepsForAnnotation}

// restore returns the action that restores the template and the annotations of a
// ReplicaSet.
func (p *plan) restore(source *member, revision int64) RollBack {
	wanted := source.Copied.Map(0)
	for _, setting := range settings {
		delete(wanted, setting)
	}
	remove := []string{RollbackAnnotation}
	for key := range p.d.Annotations {
		if _, kept := wanted[key]; IsCopied(key) && !kept && !slices.Contains(settings, key) {
			remove = append(remove, key)
		}
	}
	slices.Sort(remove)
	return RollBack{Source: source.Meta, Revision: revision, Annotations: missing(wanted, p.d.Annotations), Remove: remove}
}

// withRevision returns the ReplicaSet of a revision, or nil.
func (p *plan) withRevision(revision int64) *member {
	for _, m := range p.all() {
		if own, ok := m.revision(); ok && own == revision {
			return m
		}
	}
	return nil
}

// previousRevision returns the second greatest revision, 0 if there is no such
// revision. The greatest is that of the new ReplicaSet, even if that ReplicaSet could
// not be created.
func (p *plan) previousRevision() int64 {
	greatest, second := int64(0), int64(0)
	for _, m := range p.all() {
		revision, ok := m.revision()
		switch {
		case !ok:
		case revision >= greatest:
			greatest, second = revision, greatest
		case revision > second:
			second = revision
		}
	}
	if p.newRS == nil {
		return greatest
	}
	return second
}
