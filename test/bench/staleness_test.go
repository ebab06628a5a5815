package main

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// story makes notices: its steps follow each other by 10 ms and by one version.
type story struct{ notices []notice }

func (s *story) add(n notice) *story {
	n.version = uint64(len(s.notices) + 1)
	n.at = time.Unix(0, 0).Add(time.Duration(n.version) * 10 * time.Millisecond)
	s.notices = append(s.notices, n)
	return s
}

func templateOf(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}
}

func (s *story) replicaSet(image string, replicas int32) *story {
	return s.add(notice{replicaSet: &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "of-" + image},
		Spec:       appsv1.ReplicaSetSpec{Template: templateOf(image)},
		Status:     appsv1.ReplicaSetStatus{Replicas: replicas},
	}})
}

func (s *story) deployment(image string, replicas, updated int32) *story {
	return s.add(notice{deployment: &appsv1.Deployment{
		Spec:   appsv1.DeploymentSpec{Template: templateOf(image)},
		Status: appsv1.DeploymentStatus{Replicas: replicas, UpdatedReplicas: updated},
	}})
}

func settled() *story { return new(story).replicaSet("a", 3).deployment("a", 3, 3) }

func TestStalenessIsTheLongestTimeUntilTheStatusShowsASum(t *testing.T) {
	const step = 10 * time.Millisecond
	for name, c := range map[string]struct {
		story *story
		want  time.Duration
	}{
		"at once": {settled(), step},
		"a later sum counts for those before": {
			settled().replicaSet("a", 4).replicaSet("a", 5).replicaSet("a", 6).deployment("a", 6, 6), 3 * step,
		},
		"an earlier sum does not count for those after": {
			settled().replicaSet("a", 4).replicaSet("a", 5).deployment("a", 4, 4).replicaSet("b", 0).deployment("a", 5, 5), 3 * step,
		},
		"a sum that has come back needs no write": {settled().replicaSet("a", 4).replicaSet("a", 3), step},
		"what the template changes is not a ReplicaSet's status": {
			settled().deployment("b", 3, 3).replicaSet("b", 0).replicaSet("c", 0).deployment("b", 3, 0), step,
		},
		"the watches need not agree on the order": {
			func() *story {
				s := settled().replicaSet("a", 4).deployment("a", 4, 4)
				s.notices[2], s.notices[3] = s.notices[3], s.notices[2]
				return s
			}(), step,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := staleness(c.story.notices); got != c.want || err != nil {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestStalenessFailsIfTheStatusNeverShowsTheLastSum(t *testing.T) {
	_, err := staleness(settled().replicaSet("a", 4).deployment("a", 5, 5).notices)
	if err == nil || !strings.Contains(err.Error(), "in the end") {
		t.Errorf("got %v", err)
	}
}
