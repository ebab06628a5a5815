package rollout

import (
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/podtemplate"
)

// State is everything that a plan may look at. Plans do not modify it or what it
// points to.
//
// Numbers of pods are int64, although the API's are int32, because sums and
// products of them occur.
type State struct {
	// Now is the time of the observation. Conditions are stamped with it.
	Now        time.Time
	Deployment *Deployment
	// ReplicaSets are those that the Deployment controls, in any order.
	ReplicaSets []*ReplicaSet
	// Orphans are the ReplicaSets of the namespace that nobody controls.
	Orphans []*ReplicaSet
	// Pods is how many pods of each ReplicaSet, by its UID, exist and have not
	// finished, those that terminate included. It is nil if that is not known, for
	// which a Recreate strategy waits; see [Deployment.NeedsPods] for who needs it.
	Pods map[types.UID]int
	// Creation is how the last attempt to create a ReplicaSet failed.
	Creation CreationFailure
	// Created names the ReplicaSet that this process has created since it last wrote
	// the status; empty for none.
	Created string
	// StatusWritten and StepTaken are when this process last wrote the status, and
	// anything else, for the Deployment; zero if it did not.
	StatusWritten, StepTaken time.Time
	// NoTerminating tells that what is written as terminatingReplicas is not kept.
	NoTerminating bool
}

// CreationFailure tells that the new ReplicaSet could not be created. The zero
// value tells nothing of the kind.
type CreationFailure struct {
	// Name of the ReplicaSet.
	Name string
	// Collided tells that its name was taken, by a ReplicaSet that is not to be
	// this one. Otherwise Message tells what is wrong.
	Collided bool
	Message  string
	// IsAltered tells that it was created, with another pod template than it was to have,
	// and IsTold that an Event has told of that.
	IsAltered, IsTold bool
}

// Deployment is what a plan may look at of a Deployment. It is immutable once
// made.
type Deployment struct {
	Meta
	Generation  int64
	Annotations map[string]string // without kubectl's last applied configuration
	Deleting    bool              // its deletion was asked for

	Replicas        int64
	Paused          bool
	Strategy        appsv1.DeploymentStrategyType
	Limits          Limits
	MinReadySeconds int32
	// HistoryLimit is how many old ReplicaSets are kept, nil for all of them.
	HistoryLimit *int32
	// ProgressDeadline is how long a rollout may make no progress, nil for ever.
	ProgressDeadline *time.Duration
	// Selector as the API has it, nil if it is too large.
	Selector *metav1.LabelSelector
	Template EncodedTemplate
	Sum      podtemplate.Sum // of Template

	// Invalid tells why no plan can be made, nil if one can.
	Invalid *Invalid

	Status appsv1.DeploymentStatus
	// StatusBy is who else than this engine has written the status last.
	StatusBy StatusWrite
}

// Invalid is a reason not to plan, in the terms of an Event.
type Invalid struct{ Reason, Message string }

// Meta is what writes need to know of an object.
type Meta struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
}

// Key returns the namespace and name.
func (m *Meta) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
}

// Identity returns the Meta itself, also of a value that embeds it.
func (m *Meta) Identity() *Meta { return m }

// maxReplicas is how many pods there may be.
func (d *Deployment) maxReplicas() int64 { return d.Replicas + d.Limits.MaxSurge }

// minAvailable is how many pods a rolling update must leave available.
func (d *Deployment) minAvailable() int64 { return d.Replicas - d.Limits.MaxUnavailable }

// ReplicaSet is what a plan may look at of a ReplicaSet. It is immutable once
// made.
type ReplicaSet struct {
	Meta
	Created             time.Time
	Labels, Annotations map[string]string
	// Controller is the UID of its controller, empty if it has none. If that is a
	// Deployment, ControllerName is its name.
	Controller     types.UID
	ControllerName string
	Deleting       bool
	Sum            podtemplate.Sum // of its pod template

	Replicas        int64 // wanted
	MinReadySeconds int32

	// Observed tells that what follows is of its present generation.
	Observed                   bool
	Existing, Ready, Available int64
	Terminating                *int32 // nil: not reported
	Failure                    *appsv1.ReplicaSetCondition
}

// isFinished tells that a ReplicaSet has no pods and is not about to get any.
func (rs *ReplicaSet) isFinished() bool {
	return rs.Replicas == 0 && rs.Existing == 0 && rs.Observed && !rs.Deleting
}

// hasTerminating tells that pods of a ReplicaSet are known to terminate.
func (rs *ReplicaSet) hasTerminating() bool { return rs.Terminating != nil && *rs.Terminating > 0 }

// byAge orders ReplicaSets, the oldest first. The API's times are whole seconds,
// so names decide between those of one second.
func byAge(a, b *ReplicaSet) int {
	if order := a.Created.Compare(b.Created); order != 0 {
		return order
	}
	return strings.Compare(a.Name, b.Name)
}

// oldestFirst returns a sorted copy of those that meet a condition.
func oldestFirst(sets []*ReplicaSet, meets func(*ReplicaSet) bool) []*ReplicaSet {
	var chosen []*ReplicaSet
	for _, rs := range sets {
		if meets(rs) {
			chosen = append(chosen, rs)
		}
	}
	slices.SortFunc(chosen, byAge)
	return chosen
}

// ToInt32 converts a number of pods for the API.
func ToInt32(n int64) int32 { return int32(min(max(n, 0), math.MaxInt32)) }
