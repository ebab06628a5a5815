package deployment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/podsight"
)

// looked is a pod of a ReplicaSet, by its UID, with what it shows.
func looked(name string, controller types.UID, sight string, isReady bool) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Status: podStatus(sight, isReady, noon)}
	if controller != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-v2", UID: controller, Controller: new(true)}}
	}
	return pod
}

// pages serves lists of pods page by page, and notes what was asked for. A page without pods is an expired one.
type pages struct {
	served [][]corev1.Pod
	asked  []url.Values
}

func (p *pages) look(d *rollout.Deployment, a *rollout.LookAtPods) error {
	client := jsonClient(func(request *http.Request) (int, []byte) {
		n := len(p.asked)
		p.asked = append(p.asked, request.URL.Query())
		if p.served[n] == nil {
			expired := apierrors.NewResourceExpired("the list is too old").Status()
			expired.APIVersion, expired.Kind = "v1", "Status"
			return http.StatusGone, must(json.Marshal(expired))
		}
		list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: p.served[n]}
		if n+1 < len(p.served) {
			list.Continue = fmt.Sprint("page ", n+1)
		}
		return http.StatusOK, must(json.Marshal(list))
	})
	return (&executor{core: client}).lookAtPods(context.Background(), d, a)
}

func lookAtV2() *rollout.LookAtPods {
	return &rollout.LookAtPods{Target: rollout.Meta{Namespace: "ns", Name: "web-v2", UID: "uid-of-v2"}, Attempt: 1, At: now, IsLast: true, Found: &rollout.Look{}}
}

func TestALookFindsThePodsOfItsReplicaSetOnAllPages(t *testing.T) {
	p := &pages{served: [][]corev1.Pod{
		{looked("a", "uid-of-v2", "", true), looked("b", "uid-of-v1", "crash", false), looked("c", "", "crash", false)},
		{looked("d", "uid-of-v2", "hanging", false), looked("e", "uid-of-v2", "", true)},
		{},
	}}
	a := lookAtV2()
	if err := p.look(web(3, "v2"), a); err != nil {
		t.Fatal(err)
	}
	found := *a.Found
	if !found.At.Equal(now) || !found.IsLast || found.Ready != 2 || found.Worst.Condition != podsight.Hanging || found.Worst.Pod != "d" || found.Took <= 0 {
		t.Errorf("found %+v", found)
	}
	if first, second := p.asked[0], p.asked[1]; len(p.asked) != 3 || first.Get("labelSelector") != "app=web" || first.Get("limit") == "" || second.Get("continue") != "page 1" {
		t.Errorf("asked for %v", p.asked)
	}
}

func TestALookThatBeginsAgainCountsNoPodTwice(t *testing.T) {
	p := &pages{served: [][]corev1.Pod{
		{looked("a", "uid-of-v2", "", true), looked("b", "uid-of-v2", "crash", false)}, nil, {looked("a", "uid-of-v2", "", true)},
	}}
	a := lookAtV2()
	if err := p.look(web(3, "v2"), a); err != nil {
		t.Fatal(err)
	}
	if found := *a.Found; found.Ready != 1 || found.Worst.IsBroken() || !found.At.Equal(now) || !found.IsLast {
		t.Errorf("found %+v", found)
	}
}

// A selector is part of the address, whose length is limited.
func TestALookListsAllPodsIfTheSelectorIsTooLong(t *testing.T) {
	for name, test := range map[string]struct {
		size int
		want int
	}{
		"the longest": {longestSelector, longestSelector},
		"too long":    {longestSelector + 1, 0},
	} {
		d := new(*web(3, "v2"))
		d.Selector = selectorOf(test.size)
		p := &pages{served: [][]corev1.Pod{{looked("a", "uid-of-v2", "", true)}}}
		a := lookAtV2()
		if err := p.look(d, a); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := len(p.asked[0].Get("labelSelector")); got != test.want || a.Found.Ready != 1 {
			t.Errorf("%s: a selector of %d bytes, found %+v", name, got, a.Found)
		}
	}
}

// selectorOf returns a selector of so many bytes, such as app in (0000,0001,000).
func selectorOf(size int) *metav1.LabelSelector {
	var values []string
	for rest := size - len("app in ()"); rest > 0; rest -= len(values[len(values)-1]) + len(",") {
		values = append(values, fmt.Sprintf("%0*d", min(rest, 32), len(values)))
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: values}}}
}

func TestALookAtAnInvalidSelectorFails(t *testing.T) {
	d := new(*web(3, "v2"))
	d.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Odd"}}}
	if err := (&pages{}).look(d, lookAtV2()); err == nil {
		t.Error("it does not")
	}
}

func TestALookThatIsRefusedIsNotRemembered(t *testing.T) {
	s := newStage()
	for _, command := range []string{"deployment replicas=2 image=v1 on-failure=fall-back", "settle", "show v2 crash", "deployment image=v2", "settle", "wait 14s"} {
		s.do(strings.Fields(command))
	}
	s.cluster.refuse = func(write string) error {
		if write == "list pods" {
			return errors.New("not now")
		}
		return nil
	}
	d := s.engine.caches.deployments.get(types.NamespacedName{Namespace: "ns", Name: "web"})
	actions, _ := rollout.Plan(s.engine.caches.observe(d, s.history, s.now))
	before := s.history.trial
	done, err := s.engine.executor.apply(t.Context(), d, actions)
	if s.history.record(actions[:done], s.now); err == nil || len(actions) != 1 || s.history.trial != before {
		t.Fatalf("%d of %v are done, error %v, seen %+v", done, actions, err, s.history.trial)
	}
	s.cluster.refuse = nil
	if done, err = s.engine.executor.apply(t.Context(), d, actions); err != nil {
		t.Fatal(err)
	}
	if step, _ := s.history.record(actions[:done], s.now); !step || !s.history.trial.Worst.IsBroken() {
		t.Errorf("planned again: %t, seen %+v", step, s.history.trial)
	}
}

func TestAFallBackIsCounted(t *testing.T) {
	s := newStage()
	for _, command := range []string{"deployment replicas=2 image=v1 on-failure=fall-back", "settle", "show v2 crash", "deployment image=v2", "settle", "wait 14s"} {
		s.do(strings.Fields(command))
	}
	metrics := newMetrics()
	s.engine.executor.metrics = metrics
	s.do([]string{"settle"})
	s.do([]string{"settle"})
	if got := testutil.ToFloat64(metrics.fallBacks.WithLabelValues(string(rollout.FailedByCrash))); got != 1 {
		t.Errorf("%v fall-backs by a crash", got)
	}
}
