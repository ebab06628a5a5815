package rollout

import (
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/internal/origin"
	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// The annotations that count revisions and make scaling detectable. They are the
// annotations of Kubernetes' own controller, because kubectl reads them, and either
// controller may take over from the other.
const (
	annotationPrefix          = "deployment.kubernetes.io/"
	RevisionAnnotation        = annotationPrefix + "revision"
	revisionHistoryAnnotation = annotationPrefix + "revision-history"
	desiredReplicasAnnotation = annotationPrefix + "desired-replicas"
	maxReplicasAnnotation     = annotationPrefix + "max-replicas"
	RollbackAnnotation        = appsv1.DeprecatedRollbackTo
)

// retriedAnnotation is when the engine last made the ReplicaSet controller try again to create pods.
const retriedAnnotation = "com.xing.deployment-restart.pods-retried-at"

// OwnAnnotations are the annotations with values that ReplicaSets do not share, so
// that none is copied from the Deployment. The list must not be modified.
var OwnAnnotations = []string{RevisionAnnotation, revisionHistoryAnnotation, desiredReplicasAnnotation, maxReplicasAnnotation, RollbackAnnotation, retriedAnnotation,
	outcomeAnnotation, retryAnnotation, promoteAnnotation, abortAnnotation}

// The annotations in which the restart controller keeps what it knows about a
// Deployment's pods. They change with the content of configs, not with the template,
// and readers of ReplicaSets have no use for them.
const (
	configChecksumsAnnotation = "com.xing.deployment-restart.applied-config-checksums"
	configBasisAnnotation     = "com.xing.deployment-restart.applied-config-basis"
)

// isUnplanned reports whether no plan looks at the value of an annotation of a Deployment:
// it is for kubectl or the restart controller. It can be large.
func isUnplanned(annotation string) bool {
	switch annotation {
	case corev1.LastAppliedConfigAnnotation, configChecksumsAnnotation, configBasisAnnotation, podtemplate.RunsAnnotation, origin.Annotation:
		return true
	}
	return false
}

// IsCopied reports whether an annotation goes with the template: from the
// Deployment to its new ReplicaSet, and back in a rollback.
func IsCopied(annotation string) bool {
	return !isUnplanned(annotation) && !slices.Contains(OwnAnnotations, annotation)
}

// annotationsOfNew returns the annotations to set on the new ReplicaSet, given its
// present annotations: copies of the Deployment's annotations, and its revision, which
// is the greatest. If an earlier ReplicaSet becomes the new one again, its earlier
// revision goes into its history.
func annotationsOfNew(d *Deployment, present map[string]string, revision int64) map[string]string {
	current, ok := revisionOf(present)
	if !ok {
		return nil // another client wrote it; leave it alone
	}
	changes := map[string]string{}
	for key, value := range d.Annotations {
		if old, found := present[key]; IsCopied(key) && (!found || old != value) {
			changes[key] = value
		}
	}
	// The given revision is smaller if old ReplicaSets have been deleted since.
	if current < revision {
		changes[RevisionAnnotation] = strconv.FormatInt(revision, 10)
		if earlier, found := present[RevisionAnnotation]; found {
			changes[revisionHistoryAnnotation] = appendRevision(present[revisionHistoryAnnotation], earlier)
		}
	}
	return changes
}

// sizeAnnotations returns the annotations that show what a ReplicaSet's size was
// computed from. If they differ from the Deployment later, it has been scaled.
func (d *Deployment) sizeAnnotations() map[string]string {
	return map[string]string{
		desiredReplicasAnnotation: strconv.FormatInt(d.Replicas, 10),
		maxReplicasAnnotation:     strconv.FormatInt(d.maxReplicas(), 10),
	}
}

// countOf reads an annotation that holds a number of pods. If it cannot be read or is
// out of range, ok is false.
func countOf(annotations map[string]string, key string) (n int64, ok bool) {
	count, err := strconv.ParseUint(annotations[key], 10, 31)
	return int64(count), err == nil
}

// missing returns the annotations that differ from the present ones.
func missing(wanted, present map[string]string) map[string]string {
	changes := maps.Clone(wanted)
	maps.DeleteFunc(changes, func(key, value string) bool {
		old, found := present[key]
		return found && old == value
	})
	return changes
}
