package deployment

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// runOut lets a rollout complete, and fails the test if it does not.
func (s *stage) runOut(t *testing.T) {
	t.Helper()
	if out := s.run(); strings.HasSuffix(out, "and so on\n") {
		t.Fatal(out)
	}
}

func TestANewDefaultOfTheAPIServerStartsNoRollout(t *testing.T) {
	for name, change := range map[string]func(*stage){
		"the Deployment is shown with it first": func(s *stage) {
			s.cluster.changeDeployment("web", func(d *appsv1.Deployment) { d.Annotations["note"] = "b" })
		},
		"the ReplicaSet is shown with it first": func(s *stage) {
			s.cluster.changeReplicaSet(s.replicaSet("v3"), func(rs *appsv1.ReplicaSet) { rs.Annotations["note"] = "b" })
		},
		"the oldest template is asked for again": func(s *stage) { s.do([]string{"deployment", "image=v1"}) },
		"the one before is asked for again":      func(s *stage) { s.do([]string{"deployment", "image=v2"}) },
		"it is scaled":                           func(s *stage) { s.do([]string{"deployment", "replicas=5"}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage()
			s.do([]string{"deployment", "replicas=3"})
			s.runOut(t)
			for _, image := range []string{"v2", "v3"} {
				s.do([]string{"deployment", "image=" + image})
				s.runOut(t)
			}
			before := slices.Sorted(maps.Keys(s.cluster.replicaSets))
			s.cluster.setDefaults()
			change(s)
			s.runOut(t)
			expect(t, "replicasets", before, slices.Sorted(maps.Keys(s.cluster.replicaSets)))
		})
	}
}

func TestBeforeAReplicaSetIsCreatedItsDeploymentIsReadOnce(t *testing.T) {
	s := newStage()
	s.do([]string{"deployment", "replicas=3"})
	s.runOut(t)
	expect(t, "reads", []string{"deployment web"}, s.cluster.reads)

	s.cluster.reads = nil
	for range 3 {
		s.do([]string{"deployment", "replicas=5"})
		s.runOut(t)
		s.do([]string{"deployment", "replicas=3"})
		s.runOut(t)
	}
	expect(t, "reads without a creation", []string(nil), s.cluster.reads)

	for number := 2; number <= 9; number++ {
		newest, oldest := s.replicaSet(fmt.Sprint("v", number-1)).Name, s.replicaSet("v1").Name
		s.cluster.reads = nil
		s.do([]string{"deployment", fmt.Sprint("image=v", number)})
		s.runOut(t)
		want := []string{"deployment web", "replicaset " + newest}
		if number > 2 {
			want = append(want, "replicaset "+oldest)
		}
		expect(t, "reads", want, s.cluster.reads)
	}
}

// A Deployment may have thousands of them.
func TestFewOfManyReplicaSetsAreReadBeforeOneIsCreated(t *testing.T) {
	s := newStage()
	s.do([]string{"deployment", "replicas=1", "history=1000"})
	s.runOut(t)
	d := s.deployment()
	for number := range 200 {
		template := templateOf(fmt.Sprint("old", number))
		s.cluster.put(&appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: fmt.Sprint("old-", number), Labels: template.Labels, Annotations: map[string]string{},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, rollout.DeploymentKind)},
			},
			Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(0)), Template: template},
		})
	}
	s.runOut(t)
	s.cluster.reads = nil
	s.do([]string{"deployment", "image=v2"})
	s.runOut(t)
	if count := len(s.cluster.reads); count != 3 {
		t.Errorf("%d reads: %v", count, s.cluster.reads)
	}
	s.cluster.setDefaults()
	s.cluster.reads = nil
	s.do([]string{"deployment", "image=v3"})
	s.runOut(t)
	if count := len(s.cluster.reads); count < 200 || count > 300 { // each once, and what finds out that this is necessary
		t.Errorf("%d reads", count)
	}
}

func TestNoReplicaSetIsCreatedForADeploymentThatHasChanged(t *testing.T) {
	for name, change := range map[string]func(*cluster){
		"gone": func(c *cluster) { c.delete(c.deployments["web"]) },
		"made again": func(c *cluster) {
			again := new(*c.deployments["web"])
			again.UID = ""
			c.put(again)
		},
		"deleted": func(c *cluster) {
			c.changeDeployment("web", func(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{Time: noon} })
		},
		"changed": func(c *cluster) {
			c.changeDeployment("web", func(d *appsv1.Deployment) { d.Spec.Template = templateOf("v2") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage()
			s.do([]string{"deployment", "replicas=3"})
			d := rollout.NewDeployment(s.deployment())
			s.engine.caches.deployments.feed("").Observe(packDeployment(d))
			change(s.cluster) // which no watch has shown
			actions, _ := rollout.Plan(s.engine.caches.observe(d, writeHistory{}, s.now))
			done, err := s.engine.executor.apply(t.Context(), d, actions)
			if done != 0 || !strings.Contains(fmt.Sprint(err), errMovedOn.Error()) || len(s.cluster.replicaSets) != 0 {
				t.Errorf("%d of %v, error %v", done, actions, err)
			}
		})
	}
}

// jsonAPI answers each read with a text.
type jsonAPI struct {
	apiclient.Apps
	text string
}

func (a jsonAPI) RESTClient() rest.Interface {
	return jsonClient(func(request *http.Request) (int, []byte) {
		if accepted := request.Header.Values("Accept"); !slices.Equal(accepted, []string{"application/json"}) {
			return http.StatusNotAcceptable, nil
		}
		return http.StatusOK, []byte(a.text)
	})
}

func TestARollbackKeepsFieldsOfTheTemplateThatAreNotKnown(t *testing.T) {
	x := &executor{apps: jsonAPI{text: `{
		"metadata": {"uid": "uid-of-web-v1", "labels": {"pod-template-hash": "6c5f"}},
		"spec": {"template": {
			"metadata": {"creationTimestamp": null, "labels": {"app": "web", "pod-template-hash": "6c5f"}},
			"spec": {"containers": [{"name": "app", "future": {"limit": 9007199254740993}}], "novelty": "<&>"}
		}}
	}`}}
	source, err := x.readOriginal(context.Background(), types.NamespacedName{Namespace: "ns", Name: "web-v1"})
	if err != nil || source.Metadata.UID != "uid-of-web-v1" {
		t.Fatalf("read %+v, error %v", source, err)
	}
	body := must(rollbackPatch(&rollout.Meta{}, &rollout.RollBack{}, source.Spec.Template))
	var operations []struct{ Value json.RawMessage }
	if err := json.Unmarshal(body, &operations); err != nil {
		t.Fatal(err)
	}
	const want = `{"metadata":{"creationTimestamp":null,"labels":{"app":"web"}},"spec":{"containers":[{"future":{"limit":9007199254740993},"name":"app"}],"novelty":"\u003c\u0026\u003e"}}`
	expect(t, "template", want, string(operations[1].Value))

	for name, text := range map[string]string{"nothing": "", "no object": "[]", "cut": `{"metadata"`} {
		x := &executor{apps: jsonAPI{text: text}}
		if _, err := x.readOriginal(context.Background(), types.NamespacedName{}); err == nil {
			t.Errorf("no error about %s", name)
		}
	}
}

func TestARollbackToARecreatedReplicaSetIsPlannedAgain(t *testing.T) {
	s := newStage()
	s.do([]string{"deployment", "replicas=1"})
	s.runOut(t)
	s.do([]string{"deployment", "image=v2"})
	s.runOut(t)
	d := s.engine.caches.deployments.get(types.NamespacedName{Namespace: "ns", Name: "web"})
	target := rollout.NewReplicaSet(s.replicaSet("v1")).Meta
	target.UID = "uid-of-another"
	before := len(s.cluster.events)
	done, err := s.engine.executor.apply(t.Context(), d, []rollout.Action{rollout.RollBack{Source: target}, rollout.RecordEvent{Type: corev1.EventTypeNormal, Reason: reasonRolledBack, Message: "done"}})
	if done != 0 || !strings.Contains(fmt.Sprint(err), errMovedOn.Error()) || len(s.cluster.events) != before {
		t.Errorf("%d done, error %v, events %v", done, err, s.cluster.events[before:])
	}
}
