package rollout

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// maxHistoryLength is how many characters the list of a ReplicaSet's earlier revisions
// may have; the oldest revisions are dropped.
const maxHistoryLength = 2000

// revisionOf returns the revision in the annotations, 0 if there is no revision. If the
// revision cannot be read, ok is false.
func revisionOf(annotations map[string]string) (revision int64, ok bool) {
	text := annotations[RevisionAnnotation]
	if text == "" {
		return 0, true
	}
	revision, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, false // ParseInt returns the greatest number if it is too long
	}
	return revision, true
}

// appendRevision appends a revision to a list of revisions.
func appendRevision(history, revision string) string {
	if history == "" {
		return revision
	}
	history += "," + revision
	for len(history) > maxHistoryLength {
		_, rest, found := strings.Cut(history, ",")
		if !found {
			break
		}
		history = rest
	}
	return history
}

// ByRevision orders by revision and then by age. An unreadable revision counts as 0 and comes
// first: comparing some ReplicaSets by age and others by revision would not be a consistent
// order.
func ByRevision(a, b *ReplicaSet) int {
	first, _ := revisionOf(a.Annotations)
	second, _ := revisionOf(b.Annotations)
	return cmp.Or(cmp.Compare(first, second), byAge(a, b))
}

// sortByRevision puts the earliest revision first.
func sortByRevision(members []*member) {
	slices.SortFunc(members, func(a, b *member) int { return ByRevision(a.ReplicaSet, b.ReplicaSet) })
}

// nextRevision returns one more than the greatest revision of the old ReplicaSets.
func (p *plan) nextRevision() int64 {
	greatest := int64(0)
	for _, m := range p.oldRSs {
		if revision, ok := revisionOf(m.Annotations); ok {
			greatest = max(greatest, revision)
		}
	}
	return greatest + 1
}

// revision returns the Deployment's revision, which is that of its new ReplicaSet.
// It is empty while there is no new ReplicaSet.
func (p *plan) revision() string {
	if p.newRS == nil {
		return ""
	}
	return p.newRS.annotation(RevisionAnnotation)
}

// revision returns the revision that the ReplicaSet will have.
func (m *member) revision() (int64, bool) {
	return revisionOf(map[string]string{RevisionAnnotation: m.annotation(RevisionAnnotation)})
}
