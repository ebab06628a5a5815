package rollout

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/dump"

	"kubernetes-deployment-restart-controller/internal/origin"
	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// HashLabel is the label that distinguishes the pods and ReplicaSets of different templates.
const HashLabel = appsv1.DefaultDeploymentUniqueLabelKey

// TemplateHash names a pod template in the label pod-template-hash and in the name of its
// ReplicaSet. It equals the hash of a kube-controller-manager of the same API version, so
// that either can take over from the other. After two templates have collided, the count of
// collisions changes the hash.
//
// The hash only names a template and does not identify it; see [sumsOf].
func TemplateHash(template *corev1.PodTemplateSpec, collisions *int32) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(dump.ForHash(*template))) // a hash never fails to write
	if collisions != nil {
		var count [8]byte
		binary.LittleEndian.PutUint32(count[:], uint32(*collisions))
		_, _ = hash.Write(count[:])
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// EncodedTemplate is a pod template in protobuf. It takes a quarter of the memory of a
// decoded template, and is needed only to name a new ReplicaSet.
type EncodedTemplate string

// encodeTemplate does not fail: everything that the API server sends can be encoded again.
func encodeTemplate(template *corev1.PodTemplateSpec) EncodedTemplate {
	encoded, err := template.Marshal()
	if err != nil {
		panic(fmt.Sprintf("encode a pod template: %v", err))
	}
	return EncodedTemplate(encoded)
}

// decode does not fail on the result of encodeTemplate.
func (t EncodedTemplate) decode() *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{}
	if err := template.Unmarshal([]byte(t)); err != nil {
		panic(fmt.Sprintf("decode a pod template: %v", err))
	}
	return template
}

// sumsOf identifies a pod template apart from the label pod-template-hash, and if that matters,
// what is left of it without the marks of restarts. It does not modify the template. A
// Deployment's ReplicaSet is recognized by this sum, not by the hash, which changes with the
// version of the API.
func sumsOf(template *corev1.PodTemplateSpec, matters bool) (sum, bare podtemplate.Sum) {
	encoded := podtemplate.Encode(template)
	if sum = encoded.SumWithout(HashLabel); !matters {
		return sum, sum
	}
	for _, restart := range origin.RestartAnnotations {
		if _, found := template.Annotations[restart]; found {
			return sum, encoded.SumWithout(HashLabel, origin.RestartAnnotations...)
		}
	}
	return sum, sum
}

// ReplicaSetName returns the name of the ReplicaSet of a template. A name may have 253
// characters; in a longer name, the Deployment's part is truncated.
func ReplicaSetName(deployment, hash string) string {
	longest := max(validation.DNS1123SubdomainMaxLength-len(hash)-1, 0)
	return deployment[:min(len(deployment), longest)] + "-" + hash
}
