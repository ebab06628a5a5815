package test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"kubernetes-deployment-restart-controller/test/harness"
)

const probeName = "kubernetes-deployment-restart-controller-probe"

// Kubernetes' own deployment controller and this engine on one cluster, through 100
// rollouts: 20 Deployments get five templates, one after the other.
func TestTheEngineAndKubernetesOwnControllerOnOneCluster(t *testing.T) {
	s := newEngineSceneOfItsOwn(t)
	original := s.startOriginal()
	fleet := s.launchFleet(20, func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 1 }) // so that there is time to kill in the middle
	referee := s.callReferee(fleet, 1, 0)

	engine := s.startEngineForAll("standby", sharedHome)
	s.awaitStandingBy(engine, "wrote the status of deployment "+sharedHome+"/"+probeName)
	for _, image := range []string{"example/main:2", "example/main:3"} {
		fleet.patchImages(image)
		fleet.awaitRolledOut()
	}
	if done, err := s.actions(t.Context(), engine, ""); err != nil || done != 0 {
		t.Errorf("an engine that stands by has carried out %v actions, %v", done, err)
	}

	// The original is killed in the middle of rollouts: the engine finishes them.
	templates := 3
	roll := func() {
		templates++
		fleet.patchImages(fmt.Sprintf("example/main:%d", templates))
	}
	harness.Again(t, func() (held bool) {
		roll()
		fleet.awaitProgress(2)
		resume, err := original.Suspend()
		s.must(err)
		if fleet.isRolledOut() {
			s.must(resume())
			return false
		}
		s.must(original.Kill())
		return true
	})
	s.must(engine.AwaitDriving(t.Context(), waitLimit))
	fleet.awaitRolledOut()
	s.requireEvent(sharedHome, "TookOver", "drives Deployments")

	// A second installation detects the first, although both write by the same name.
	second := s.startEngineForAll("on", s.ownNamespace())
	s.awaitStandingBy(second, fieldManager+" wrote the status of deployment "+s.namespace+"-own/"+probeName)
	s.requireToldStandingBy(second)
	s.must(second.Stop())

	// The original comes back in the middle of rollouts: it finishes them.
	roll()
	fleet.awaitProgress(2)
	s.startOriginal()
	s.awaitStandingBy(engine, "wrote the status of deployment")
	s.requireToldStandingBy(engine)
	fleet.awaitRolledOut()
	s.requireEvent(sharedHome, "RivalEngine", "stands by")
	before, err := s.actions(t.Context(), engine, "") // what was under way has ended
	s.must(err)
	roll()
	fleet.awaitRolledOut()
	if after, err := s.actions(t.Context(), engine, ""); err != nil || after != before {
		t.Errorf("an engine that stands by has carried out %v actions, %v", after-before, err)
	}

	referee.requireFair(templates)
	s.must(engine.Stop())
	if _, err := s.client.AppsV1().Deployments(sharedHome).Get(t.Context(), probeName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the probe is left behind: %v", err)
	}
}

// startOriginal starts Kubernetes' own deployment controller next to the cluster's other
// controllers.
func (s *scene) startOriginal() *harness.Component {
	s.Helper()
	original, err := s.cluster.StartBeside(harness.ControllerManager,
		"--kubeconfig="+s.cluster.Kubeconfig(), "--controllers=deployment-controller", "--leader-elect=false", "--secure-port=0",
		"--kube-api-qps=1000", "--kube-api-burst=2000")
	s.must(err)
	s.Cleanup(func() {
		if original.Running() == nil {
			s.must(original.Kill())
		}
	})
	return original
}

// startEngineForAll starts an engine for all namespaces, on or as a standby, with its probe
// in one of them.
func (s *scene) startEngineForAll(mode, own string) *harness.Controller {
	s.Helper()
	engine, err := s.installation.StartController(s.Context(), "-r", "1", "-v", "1", "--deployment-engine="+mode, "--controller-namespace", own)
	s.must(err)
	s.controller = engine
	s.Cleanup(func() {
		if engine.Running() == nil {
			s.must(engine.Stop())
		}
	})
	return engine
}

// awaitStandingBy waits until an engine does not drive because of another controller.
// That is no reason not to be ready.
func (s *scene) awaitStandingBy(engine *harness.Controller, cause string) {
	s.Helper()
	s.eventually("the engine stands by", func(ctx context.Context) error {
		status, body, err := engine.Get(ctx, "/readyz")
		switch {
		case err != nil:
			return err
		case status != http.StatusOK || !strings.Contains(body, "standing by, since ") || !strings.Contains(body, cause):
			return fmt.Errorf("/readyz answers %d: %s", status, body)
		}
		drives, err := engine.Metric(ctx, "deployment_engine_driving", nil)
		if err == nil && drives != 0 {
			err = errors.New("it drives")
		}
		return err
	})
}

// requireToldStandingBy fails the test if the log of an engine that was not started as a
// standby does not report that it stands by.
func (s *scene) requireToldStandingBy(engine *harness.Controller) {
	s.Helper()
	if len(engine.Log().Containing("level=WARN", "standing by: another controller drives deployments")) == 0 {
		s.Error("the log does not report that the engine stands by")
	}
}

// requireEvent waits for an Event about the probe in a namespace.
func (s *scene) requireEvent(namespace, reason, text string) {
	s.Helper()
	s.eventually("an Event reports "+reason, func(ctx context.Context) error {
		list, err := s.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + probeName + ",reason=" + reason})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if strings.Contains(list.Items[i].Message, text) {
				return nil
			}
		}
		return fmt.Errorf("none of %d", len(list.Items))
	})
}

func (f *fleet) awaitRolledOut() {
	f.s.Helper()
	for _, w := range f.members {
		f.s.awaitRollout(w)
	}
}

func (f *fleet) isRolledOut() bool {
	f.s.Helper()
	return !slices.ContainsFunc(f.members, func(w workload) bool {
		st, err := f.s.look(f.s.Context(), w)
		return err != nil || st.rollout != nil
	})
}

// awaitProgress waits until one of the Deployments has so many pods of the new template, or all are rolled out.
func (f *fleet) awaitProgress(pods int32) {
	f.s.Helper()
	f.s.eventually("the rollouts are under way", func(ctx context.Context) error {
		list, err := f.s.client.AppsV1().Deployments(f.s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var most int32
		isOver := true
		for i := range list.Items {
			d := &list.Items[i]
			isOver = isOver && deploymentRollout(d) == nil
			if d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas < d.Status.Replicas {
				most = max(most, d.Status.UpdatedReplicas)
			}
		}
		if most < pods && !isOver {
			return fmt.Errorf("at most %d pods are new", most)
		}
		return nil
	})
}

// referee watches the ReplicaSets of a fleet, and notes each moment at which there are
// more pods wanted, or fewer available, than the rolling update allows, and each
// second ReplicaSet for a template.
type referee struct {
	s                  *scene
	surge, unavailable int32
	stop               func()

	mu       sync.Mutex
	isOver   bool
	sets     map[string]map[string]*appsv1.ReplicaSet // by Deployment and name
	images   map[string]map[string]string             // the ReplicaSet of each image, by Deployment
	moments  int
	offenses []string
}

// callReferee begins with what there is, which must be settled.
func (s *scene) callReferee(f *fleet, surge, unavailable int32) *referee {
	s.Helper()
	r := &referee{s: s, surge: surge, unavailable: unavailable, sets: map[string]map[string]*appsv1.ReplicaSet{}, images: map[string]map[string]string{}}
	for _, w := range f.members {
		r.sets[w.name], r.images[w.name] = map[string]*appsv1.ReplicaSet{}, map[string]string{}
	}
	list, err := s.client.AppsV1().ReplicaSets(s.namespace).List(s.Context(), metav1.ListOptions{})
	s.must(err)
	for i := range list.Items {
		r.see(apiwatch.Event{Type: apiwatch.Added, Object: &list.Items[i]})
	}
	stream, err := s.client.AppsV1().ReplicaSets(s.namespace).Watch(s.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	s.must(err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range stream.ResultChan() {
			r.see(event)
		}
	}()
	r.stop = func() {
		r.mu.Lock()
		r.isOver = true
		r.mu.Unlock()
		stream.Stop() // which can look like a broken stream
		<-ended
	}
	s.Cleanup(r.stop)
	return r
}

func (r *referee) see(event apiwatch.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isOver {
		return
	}
	rs, isReplicaSet := event.Object.(*appsv1.ReplicaSet)
	if !isReplicaSet {
		r.offenses = append(r.offenses, fmt.Sprintf("the referee sees nothing any more: %v", event.Object))
		return
	}
	app := rs.Labels["app"]
	sets, isMember := r.sets[app]
	if !isMember {
		return
	}
	if event.Type == apiwatch.Deleted {
		delete(sets, rs.Name)
	} else {
		sets[rs.Name] = rs
	}
	r.moments++
	image := rs.Spec.Template.Spec.Containers[0].Image
	if other, found := r.images[app][image]; found && other != rs.Name {
		r.offenses = append(r.offenses, fmt.Sprintf("%s has both %s and %s for %s", app, other, rs.Name, image))
	}
	r.images[app][image] = rs.Name
	r.judge(app)
}

// judge looks at a Deployment of 4 replicas.
func (r *referee) judge(app string) {
	const replicas = 4
	var wanted, available int32
	var sizes []string
	for _, rs := range r.sets[app] {
		wanted += *rs.Spec.Replicas
		available += min(*rs.Spec.Replicas, rs.Status.AvailableReplicas)
		if *rs.Spec.Replicas > 0 {
			sizes = append(sizes, fmt.Sprintf("%s %d/%d", rs.Name, rs.Status.AvailableReplicas, *rs.Spec.Replicas))
		}
	}
	if wanted > replicas+r.surge || available < replicas-r.unavailable {
		r.offenses = append(r.offenses, fmt.Sprintf("%s wants %d and has %d available: %v", app, wanted, available, sizes))
	}
}

// requireFair fails the test if there were offenses, or if some Deployment has not had
// so many templates.
func (r *referee) requireFair(templates int) {
	r.s.Helper()
	r.s.eventually("the referee has seen all templates", func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for app, images := range r.images {
			if len(images) != templates {
				return fmt.Errorf("%d of %s", len(images), app)
			}
		}
		return nil
	})
	r.stop()
	r.s.Logf("the referee has seen %d moments", r.moments)
	for _, offense := range r.offenses {
		r.s.Error(offense)
	}
}
