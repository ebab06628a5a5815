package deployment

import (
	"fmt"
	"time"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/pack"
	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// packedReplicaSet is a ReplicaSet in a cache, which may hold very many. The ReplicaSets of
// one Deployment share one copy of what they have in common; the rest is one string.
type packedReplicaSet struct {
	origin unique.Handle[string]        // its namespace, its controller, and its labels except the hash
	copied unique.Handle[rollout.Pairs] // its annotations that come from the Deployment
	own    string
}

// packedDeployment is a Deployment in a cache.
type packedDeployment struct {
	copied unique.Handle[rollout.Pairs] // its annotations that go to ReplicaSets
	own    string
}

func packReplicaSet(rs *rollout.ReplicaSet) packedReplicaSet {
	var origin, own pack.Packer
	origin.Texts(rs.Namespace, string(rs.Controller), rs.ControllerName, string(rs.Labels))

	isNamedByHash := rs.Hash != nil && rs.Name == rollout.ReplicaSetName(rs.ControllerName, *rs.Hash)
	own.Flags(rs.Heavy, rs.Deleting, rs.Observed, rs.Hash != nil, isNamedByHash, rs.Terminating != nil, rs.Failure != nil, rs.Bare != rs.Sum)
	if rs.Hash != nil {
		own.Texts(*rs.Hash)
	}
	own.Values(rs.Annotations, rollout.OwnAnnotations)
	own.Texts(string(rs.UID), rs.ResourceVersion, string(rs.Sum[:]))
	if rs.Bare != rs.Sum {
		own.Texts(string(rs.Bare[:]))
	}
	own.Time(rs.Created)
	own.Numbers(rs.Replicas, int64(rs.MinReadySeconds), rs.Existing, rs.Ready, rs.Available)
	if !isNamedByHash {
		own.Texts(rs.Name)
	}
	if rs.Terminating != nil {
		own.Numbers(int64(*rs.Terminating))
	}
	if rs.Failure != nil {
		own.Texts(marshal(rs.Failure))
	}
	return packedReplicaSet{unique.Make(origin.String()), unique.Make(rs.Copied), own.String()}
}

// unpack costs little, whatever an author has chosen: the labels and annotations stay packed.
func (p packedReplicaSet) unpack() *rollout.ReplicaSet {
	origin, own := pack.UnpackerOf(p.origin.Value()), pack.UnpackerOf(p.own)
	rs := &rollout.ReplicaSet{Meta: rollout.Meta{Namespace: origin.OwnText()}, Controller: types.UID(origin.OwnText()), ControllerName: origin.OwnText()}
	rs.Labels, rs.Copied, rs.Annotations = rollout.Pairs(origin.Text()), p.copied.Value(), map[string]string{}

	var hasHash, isNamedByHash, hasTerminating, hasFailure, isRestarted bool
	own.Flags(&rs.Heavy, &rs.Deleting, &rs.Observed, &hasHash, &isNamedByHash, &hasTerminating, &hasFailure, &isRestarted)
	if hasHash {
		rs.Hash = new(own.Text())
	}
	own.Values(rs.Annotations, rollout.OwnAnnotations)
	rs.UID, rs.ResourceVersion = types.UID(own.OwnText()), own.OwnText()
	rs.Sum, rs.Bare = unpackSums(&own, isRestarted)
	rs.Created = own.Time()
	rs.Replicas, rs.MinReadySeconds, rs.Existing, rs.Ready, rs.Available = own.Number(), int32(own.Number()), own.Number(), own.Number(), own.Number()
	if isNamedByHash {
		rs.Name = rollout.ReplicaSetName(rs.ControllerName, *rs.Hash)
	} else {
		rs.Name = own.OwnText()
	}
	if hasTerminating {
		rs.Terminating = new(int32(own.Number()))
	}
	if hasFailure {
		rs.Failure = &appsv1.ReplicaSetCondition{}
		unmarshal(own.Text(), rs.Failure)
	}
	return rs
}

func (p packedReplicaSet) key() types.NamespacedName { return p.unpack().Key() }

func (p packedReplicaSet) namespace() string {
	origin := pack.UnpackerOf(p.origin.Value())
	return origin.Text()
}

func packDeployment(d *rollout.Deployment) packedDeployment {
	var own pack.Packer
	own.Texts(d.Namespace, d.Name)
	own.Flags(d.Deleting, d.Paused, d.HistoryLimit != nil, d.ProgressDeadline != nil, d.Selector != nil, d.Invalid != nil, d.Heavy, d.Bare != d.Sum, d.Runs != "")
	own.Values(d.Annotations, rollout.OwnAnnotations)
	own.Texts(string(d.UID), d.ResourceVersion, string(d.Strategy), string(d.Template), marshal(&d.Status), d.StatusBy.Manager, string(d.Sum[:]))
	if d.Bare != d.Sum {
		own.Texts(string(d.Bare[:]))
	}
	if d.Runs != "" {
		own.Texts(string(d.Runs))
	}
	own.Numbers(d.Generation, d.Replicas, d.Limits.MaxSurge, d.Limits.MaxUnavailable, int64(d.MinReadySeconds), d.StatusBy.Time)
	if d.HistoryLimit != nil {
		own.Numbers(int64(*d.HistoryLimit))
	}
	if d.ProgressDeadline != nil {
		own.Numbers(int64(*d.ProgressDeadline))
	}
	if d.Selector != nil {
		own.Texts(marshal(d.Selector))
	}
	if d.Invalid != nil {
		own.Texts(d.Invalid.Reason, d.Invalid.Message)
	}
	return packedDeployment{unique.Make(rollout.PackPairs(d.Annotations, rollout.IsCopied)), own.String()}
}

func (p packedDeployment) unpack() *rollout.Deployment { return p.read(true) }

// outline returns what costs little to unpack: all but the annotations and the selector that an author chooses.
func (p packedDeployment) outline() *rollout.Deployment { return p.read(false) }

func (p packedDeployment) read(whole bool) *rollout.Deployment {
	own, d := pack.UnpackerOf(p.own), &rollout.Deployment{Annotations: map[string]string{}}
	if whole {
		d.Annotations = p.copied.Value().Map(len(rollout.OwnAnnotations))
	}

	d.Namespace, d.Name = own.OwnText(), own.OwnText()
	var hasHistoryLimit, hasDeadline, hasSelector, isInvalid, isRestarted, showsReads bool
	own.Flags(&d.Deleting, &d.Paused, &hasHistoryLimit, &hasDeadline, &hasSelector, &isInvalid, &d.Heavy, &isRestarted, &showsReads)
	own.Values(d.Annotations, rollout.OwnAnnotations)
	d.UID, d.ResourceVersion = types.UID(own.OwnText()), own.OwnText()
	d.Strategy, d.Template = appsv1.DeploymentStrategyType(own.Text()), rollout.EncodedTemplate(own.Text())
	unmarshal(own.Text(), &d.Status)
	d.StatusBy.Manager = own.OwnText()
	d.Sum, d.Bare = unpackSums(&own, isRestarted)
	if showsReads {
		d.Runs = types.UID(own.OwnText())
	}
	d.Generation, d.Replicas, d.Limits.MaxSurge, d.Limits.MaxUnavailable = own.Number(), own.Number(), own.Number(), own.Number()
	d.MinReadySeconds, d.StatusBy.Time = int32(own.Number()), own.Number()
	if hasHistoryLimit {
		d.HistoryLimit = new(int32(own.Number()))
	}
	if hasDeadline {
		d.ProgressDeadline = new(time.Duration(own.Number()))
	}
	if hasSelector {
		encoded := own.Text()
		if whole {
			d.Selector = &metav1.LabelSelector{}
			unmarshal(encoded, d.Selector)
		}
	}
	if isInvalid {
		d.Invalid = &rollout.Invalid{Reason: own.OwnText(), Message: own.OwnText()}
	}
	return d
}

// unpackSums returns both sums of a pod template, which are the same unless it was restarted.
func unpackSums(own *pack.Unpacker, isRestarted bool) (sum, bare podtemplate.Sum) {
	copy(sum[:], own.Text())
	if bare = sum; isRestarted {
		copy(bare[:], own.Text())
	}
	return sum, bare
}

func (p packedDeployment) key() types.NamespacedName {
	own := pack.UnpackerOf(p.own)
	return types.NamespacedName{Namespace: own.OwnText(), Name: own.OwnText()}
}

func (p packedDeployment) namespace() string {
	own := pack.UnpackerOf(p.own)
	return own.Text()
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
