package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Trouble by numbers: objects that take far more memory than bytes, or that are many, and what needs no permission at
// all.

const (
	// values is how many empty containers an object has. Four times as many would fit, but an API server on a busy machine
	// does not store them within its limit.
	values = 120_000
	// referrers is how many Deployments there are with more references, taken together, than a namespace may have.
	referrers            = 12
	referencesOfReferrer = 9900
	// readOnce is how many configs a workload reads whose grace period does not end.
	readOnce = 300
	// halfOpen is how many connections send the beginning of a request and no more.
	halfOpen = 1000
)

// excesses returns the troubles by numbers.
func (t *tenant) excesses() []trouble {
	return []trouble{
		{"config edited beside a revision of many values", 2 * time.Second, t.all(t.makeConfig("valued", 1), t.makeStatefulSet("valued"), t.makeRevisionOfValues("valued")),
			t.editConfig("valued")},
		{"object of many values edited", 10 * time.Second, t.all(t.makeWidget), t.editWidget},
		{"too many references edited", 5 * time.Second, t.makeReferrers, t.annotate("referrer-0", "example.com/edited")},
		{"config edited whose user waits", 100 * time.Millisecond, t.makePatient, t.editInTurn("patient", readOnce)},
		{"opted in and out", 200 * time.Millisecond, t.all(t.makeDeployment("undecided", 0, reading("undecided"))), t.optInOrOut("undecided")},
		{"annotation misspelled", 500 * time.Millisecond, t.all(t.makeDeployment("misspelled", 0, reading("misspelled"))), t.annotate("misspelled", enabledAnnotation+".wavee")},
		{"connections half open", 5 * time.Second, func(context.Context) error { return nil }, t.openHalf},
	}
}

// spread is an object with a pod template of very many empty containers.
func spread(form string) []byte {
	return fmt.Appendf(nil, form, strings.TrimSuffix(strings.Repeat("{},", values), ","))
}

// makeRevisionOfValues makes a ControllerRevision of a StatefulSet, in the place of one of its own.
func (t *tenant) makeRevisionOfValues(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		owner, err := t.client.AppsV1().StatefulSets(hostileNamespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = t.client.AppsV1().ControllerRevisions(hostileNamespace).Create(ctx, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Name: "values", Labels: map[string]string{"app": name},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))},
			},
			Data: runtime.RawExtension{Raw: spread(`{"spec":{"template":{"spec":{"containers":[%s]}}}}`)}, Revision: 1,
		}, metav1.CreateOptions{FieldManager: maker})
		return err
	}
}

// widgets is the path of the hostile objects of another kind.
const widgets = "/apis/soak.example.com/v1/namespaces/" + hostileNamespace + "/widgets"

// makeWidget makes an object that is not even enabled.
func (t *tenant) makeWidget(ctx context.Context) error {
	body := spread(`{"apiVersion":"soak.example.com/v1","kind":"Widget","metadata":{"name":"values"},"spec":{"template":{"spec":{"containers":[%s]}}}}`)
	return t.client.Discovery().RESTClient().Post().AbsPath(widgets).Body(body).Do(ctx).Error()
}

func (t *tenant) editWidget(ctx context.Context) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"edited":%q}}}`, t.value())
	return t.client.Discovery().RESTClient().Patch(types.MergePatchType).AbsPath(widgets, "values").Body(patch).Do(ctx).Error()
}

// makeReferrers makes Deployments that read very many configs, none of which exists.
func (t *tenant) makeReferrers(ctx context.Context) error {
	sources := make([]corev1.EnvFromSource, referencesOfReferrer)
	for i := range sources {
		sources[i].ConfigMapRef = &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprintf("none-%d", i)}}
	}
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example/main", EnvFrom: sources}}}
	steps := make([]func(context.Context) error, referrers)
	for i := range steps {
		steps[i] = t.makeDeployment(fmt.Sprintf("referrer-%d", i), 0, pod)
	}
	return t.all(steps...)(ctx)
}

// makePatient makes a Deployment with the longest grace period that anybody can write, and its configs.
func (t *tenant) makePatient(ctx context.Context) error {
	var steps []func(context.Context) error
	var sources []corev1.EnvFromSource
	for i := range readOnce {
		name := fmt.Sprintf("patient-%d", i)
		steps = append(steps, t.makeConfig(name, 1))
		sources = append(sources, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}})
	}
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example/main", EnvFrom: sources}}}
	steps = append(steps, t.makeDeployment("patient", 0, pod), func(ctx context.Context) error {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"876000h"}}}`, enabledAnnotation+".grace-period")
		return t.patchDeployment(ctx, "patient", maker, patch)
	})
	return t.all(steps...)(ctx)
}

// editInTurn edits one of many configs.
func (t *tenant) editInTurn(prefix string, count int64) func(context.Context) error {
	return func(ctx context.Context) error {
		return t.editConfig(fmt.Sprintf("%s-%d", prefix, t.serial.Load()%count))(ctx)
	}
}

// annotate gives a Deployment's annotation another value.
func (t *tenant) annotate(deployment, annotation string) func(context.Context) error {
	return func(ctx context.Context) error {
		return t.patchDeployment(ctx, deployment, "annotator", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotation, t.value()))
	}
}

func (t *tenant) optInOrOut(deployment string) func(context.Context) error {
	isIn := true
	return func(ctx context.Context) error {
		value := enabled
		if isIn = !isIn; !isIn {
			value = disabled
		}
		return t.patchDeployment(ctx, deployment, "waverer", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, enabledAnnotation, value))
	}
}

// openHalf opens connections to the controllers, sends the beginning of a request on each, and leaves them for a while.
// Controllers refuse or close them as they like.
func (t *tenant) openHalf(ctx context.Context) error {
	beginning := "GET /healthz HTTP/1.1\r\nX-Long: " + strings.Repeat("x", 60_000)
	var open []io.Closer
	var mu sync.Mutex
	var wait sync.WaitGroup
	dialer := net.Dialer{Timeout: time.Second}
	for _, address := range t.addresses() {
		for range 10 {
			wait.Go(func() {
				for range halfOpen / 10 {
					connection, err := dialer.DialContext(ctx, "tcp", address)
					if err != nil {
						return
					}
					mu.Lock()
					open = append(open, connection)
					mu.Unlock()
					_ = connection.SetWriteDeadline(time.Now().Add(time.Second))
					_, _ = io.WriteString(connection, beginning) // it may be closed by now
				}
			})
		}
	}
	wait.Wait()
	pause(ctx, 3*time.Second)
	for _, connection := range open {
		_ = connection.Close()
	}
	return nil
}
