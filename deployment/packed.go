package deployment

import (
	"fmt"
	"time"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// packedReplicaSet is a ReplicaSet in a cache, which may hold very many. The ReplicaSets of
// one Deployment share one copy of what they have in common; the rest is one string.
type packedReplicaSet struct {
	origin unique.Handle[string] // its namespace, its controller, and its labels except the hash
	copied unique.Handle[string] // its annotations that come from the Deployment
	own    string
}

// packedDeployment is a Deployment in a cache.
type packedDeployment struct {
	copied unique.Handle[string] // its annotations that go to ReplicaSets
	own    string
}

// hashKeys are the labels that a ReplicaSet does not share with others.
var hashKeys = []string{rollout.HashLabel}

func packReplicaSet(rs *rollout.ReplicaSet) packedReplicaSet {
	var origin, copied, own packer
	origin.texts(rs.Namespace, string(rs.Controller), rs.ControllerName)
	origin.textMap(rs.Labels, func(key string) bool { return key != rollout.HashLabel })
	copied.textMap(rs.Annotations, rollout.IsCopied)

	isNamedByHash := rs.Name == rollout.ReplicaSetName(rs.ControllerName, rs.Labels[rollout.HashLabel])
	own.flags(rs.Deleting, rs.Observed, isNamedByHash, rs.Terminating != nil, rs.Failure != nil)
	own.values(rs.Labels, hashKeys)
	own.values(rs.Annotations, rollout.OwnAnnotations)
	own.texts(string(rs.UID), rs.ResourceVersion, string(rs.Sum[:]))
	own.time(rs.Created)
	own.numbers(rs.Replicas, int64(rs.MinReadySeconds), rs.Existing, rs.Ready, rs.Available)
	if !isNamedByHash {
		own.texts(rs.Name)
	}
	if rs.Terminating != nil {
		own.numbers(int64(*rs.Terminating))
	}
	if rs.Failure != nil {
		own.texts(marshal(rs.Failure))
	}
	return packedReplicaSet{origin.handle(), copied.handle(), own.string()}
}

func (p packedReplicaSet) unpack() *rollout.ReplicaSet { return p.read(true) }

// outline returns what costs little to unpack: all but the labels and annotations that an author chooses.
func (p packedReplicaSet) outline() *rollout.ReplicaSet { return p.read(false) }

func (p packedReplicaSet) read(whole bool) *rollout.ReplicaSet {
	origin, copied, own := unpacker{p.origin.Value()}, unpacker{p.copied.Value()}, unpacker{p.own}
	rs := &rollout.ReplicaSet{Meta: rollout.Meta{Namespace: origin.ownText()}, Controller: types.UID(origin.ownText()), ControllerName: origin.ownText()}
	rs.Labels, rs.Annotations = map[string]string{}, map[string]string{}
	if whole {
		rs.Labels, rs.Annotations = origin.textMap(len(hashKeys)), copied.textMap(len(rollout.OwnAnnotations))
	}

	var isNamedByHash, hasTerminating, hasFailure bool
	own.flags(&rs.Deleting, &rs.Observed, &isNamedByHash, &hasTerminating, &hasFailure)
	own.values(rs.Labels, hashKeys)
	own.values(rs.Annotations, rollout.OwnAnnotations)
	rs.UID, rs.ResourceVersion = types.UID(own.ownText()), own.ownText()
	copy(rs.Sum[:], own.text())
	rs.Created = own.time()
	rs.Replicas, rs.MinReadySeconds, rs.Existing, rs.Ready, rs.Available = own.number(), int32(own.number()), own.number(), own.number(), own.number()
	if isNamedByHash {
		rs.Name = rollout.ReplicaSetName(rs.ControllerName, rs.Labels[rollout.HashLabel])
	} else {
		rs.Name = own.ownText()
	}
	if hasTerminating {
		rs.Terminating = new(int32(own.number()))
	}
	if hasFailure {
		rs.Failure = &appsv1.ReplicaSetCondition{}
		unmarshal(own.text(), rs.Failure)
	}
	return rs
}

func (p packedReplicaSet) key() types.NamespacedName { return p.outline().Key() }

func (p packedReplicaSet) namespace() string {
	origin := unpacker{p.origin.Value()}
	return origin.text()
}

func packDeployment(d *rollout.Deployment) packedDeployment {
	var copied, own packer
	copied.textMap(d.Annotations, rollout.IsCopied)

	own.texts(d.Namespace, d.Name)
	own.flags(d.Deleting, d.Paused, d.HistoryLimit != nil, d.ProgressDeadline != nil, d.Selector != nil, d.Invalid != nil)
	own.values(d.Annotations, rollout.OwnAnnotations)
	own.texts(string(d.UID), d.ResourceVersion, string(d.Strategy), string(d.Template), string(d.Sum[:]), marshal(&d.Status), d.StatusBy.Manager)
	own.numbers(d.Generation, d.Replicas, d.Limits.MaxSurge, d.Limits.MaxUnavailable, int64(d.MinReadySeconds), d.StatusBy.Time)
	if d.HistoryLimit != nil {
		own.numbers(int64(*d.HistoryLimit))
	}
	if d.ProgressDeadline != nil {
		own.numbers(int64(*d.ProgressDeadline))
	}
	if d.Selector != nil {
		own.texts(marshal(d.Selector))
	}
	if d.Invalid != nil {
		own.texts(d.Invalid.Reason, d.Invalid.Message)
	}
	return packedDeployment{copied.handle(), own.string()}
}

func (p packedDeployment) unpack() *rollout.Deployment { return p.read(true) }

// outline returns what costs little to unpack: all but the annotations and the selector that an author chooses.
func (p packedDeployment) outline() *rollout.Deployment { return p.read(false) }

func (p packedDeployment) read(whole bool) *rollout.Deployment {
	copied, own, d := unpacker{p.copied.Value()}, unpacker{p.own}, &rollout.Deployment{Annotations: map[string]string{}}
	if whole {
		d.Annotations = copied.textMap(len(rollout.OwnAnnotations))
	}

	d.Namespace, d.Name = own.ownText(), own.ownText()
	var hasHistoryLimit, hasDeadline, hasSelector, isInvalid bool
	own.flags(&d.Deleting, &d.Paused, &hasHistoryLimit, &hasDeadline, &hasSelector, &isInvalid)
	own.values(d.Annotations, rollout.OwnAnnotations)
	d.UID, d.ResourceVersion = types.UID(own.ownText()), own.ownText()
	d.Strategy, d.Template = appsv1.DeploymentStrategyType(own.text()), rollout.EncodedTemplate(own.text())
	copy(d.Sum[:], own.text())
	unmarshal(own.text(), &d.Status)
	d.StatusBy.Manager = own.ownText()
	d.Generation, d.Replicas, d.Limits.MaxSurge, d.Limits.MaxUnavailable = own.number(), own.number(), own.number(), own.number()
	d.MinReadySeconds, d.StatusBy.Time = int32(own.number()), own.number()
	if hasHistoryLimit {
		d.HistoryLimit = new(int32(own.number()))
	}
	if hasDeadline {
		d.ProgressDeadline = new(time.Duration(own.number()))
	}
	if hasSelector {
		encoded := own.text()
		if whole {
			d.Selector = &metav1.LabelSelector{}
			unmarshal(encoded, d.Selector)
		}
	}
	if isInvalid {
		d.Invalid = &rollout.Invalid{Reason: own.ownText(), Message: own.ownText()}
	}
	return d
}

func (p packedDeployment) key() types.NamespacedName {
	own := unpacker{p.own}
	return types.NamespacedName{Namespace: own.ownText(), Name: own.ownText()}
}

func (p packedDeployment) namespace() string {
	own := unpacker{p.own}
	return own.text()
}

// marshaler is an API object, or a part of one.
type marshaler interface{ Marshal() ([]byte, error) }

// marshal encodes as protobuf. That does not fail: whatever the API server sends can be sent
// back.
func marshal(part marshaler) string {
	encoded, err := part.Marshal()
	if err != nil {
		panic(fmt.Sprintf("encode a %T: %v", part, err))
	}
	return string(encoded)
}

// unmarshal decodes the result of marshal, so it does not fail either.
func unmarshal(encoded string, into interface{ Unmarshal([]byte) error }) {
	if err := into.Unmarshal([]byte(encoded)); err != nil {
		panic(fmt.Sprintf("decode a %T: %v", into, err))
	}
}
