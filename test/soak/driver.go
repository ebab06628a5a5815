package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"kubernetes-deployment-restart-controller/test/soak/model"
)

// driver does to the world what its users would. It speaks to the API server
// directly, and repeats what fails until it knows that it is done. Each object
// belongs to one worker, so that the edits of one are in order.
//
// Every kind of edit has a field manager of its own, and so has each key. With one for
// all, a label that is set later would move the time at which the API says that the
// content was edited (docs/design.md, Limits).
type driver struct {
	client kubernetes.Interface
	judge  *judge
	world  *world
	serial atomic.Int64 // makes each value another: content never comes back

	mu    sync.Mutex
	edits map[string]int // by kind
}

const (
	workers    = 4
	maker      = "maker"
	retryPause = 200 * time.Millisecond
)

func (d *driver) count(kind string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.edits[kind]++
}

func (d *driver) counts() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.edits)
}

// until repeats what fails until it succeeds or the context ends. An answer that done
// accepts is a success: the attempt before may have been carried out.
func until(ctx context.Context, done func(error) bool, attempt func(context.Context) error) error {
	for {
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := attempt(limited)
		cancel()
		if err == nil || done != nil && done(err) {
			return nil
		}
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			return err // the soak is wrong
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(retryPause):
		}
	}
}

func (d *driver) value() string { return fmt.Sprintf("v%d", d.serial.Add(1)) }

// setUp makes everything, and enables it.
func (d *driver) setUp(ctx context.Context) error {
	for i := range namespaceCount {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(i)}}
		if _, err := d.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make a namespace: %w", err)
		}
	}
	return d.share(ctx, func(ctx context.Context, w int) error {
		for i := w; i < len(d.world.configs); i += workers {
			if err := d.makeConfig(ctx, d.world.configs[i], "made"); err != nil {
				return err
			}
		}
		for i := w; i < len(d.world.workloads); i += workers {
			if err := d.makeWorkload(ctx, d.world.workloads[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// share runs the workers and returns when all are done.
func (d *driver) share(ctx context.Context, work func(context.Context, int) error) error {
	var wait sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		wait.Go(func() { errs[w] = work(ctx, w) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// disturb edits at random until the time is over, about so many times a second.
func (d *driver) disturb(ctx context.Context, seed uint64, end time.Time, rate float64) error {
	return d.share(ctx, func(ctx context.Context, w int) error {
		random := rand.New(rand.NewPCG(seed, uint64(w)))
		ticker := time.NewTicker(time.Duration(float64(workers) / rate * float64(time.Second)))
		defer ticker.Stop()
		for time.Now().Before(end) {
			if err := d.step(ctx, random, w); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-ticker.C:
			}
		}
		return nil
	})
}

// step does one random thing to an object of the worker's.
func (d *driver) step(ctx context.Context, random *rand.Rand, w int) error {
	c := pick(random, d.world.configs, w)
	app := pick(random, d.world.workloads, w)
	switch dice := random.IntN(1000); {
	case dice < 350:
		return d.label(ctx, random, c)
	case dice < 600:
		return d.editBlindly(ctx, random, c)
	case dice < 860:
		return d.edit(ctx, random, c)
	case dice < 890:
		return d.remake(ctx, random, c)
	case dice < 910:
		return d.toggle(ctx, app)
	case dice < 950:
		return d.scale(ctx, random, app)
	case dice < 975:
		return d.pause(ctx, app)
	case dice < 985:
		return d.roll(ctx, app)
	default:
		return d.remakeWorkload(ctx, random, app)
	}
}

// pick draws one of the objects that belong to a worker.
func pick[T any](random *rand.Rand, all []T, w int) T {
	count := (len(all) - w + workers - 1) / workers
	return all[w+workers*random.IntN(count)]
}

// label edits what is not content.
func (d *driver) label(ctx context.Context, random *rand.Rand, c *config) error {
	if c.content == nil {
		return nil
	}
	field := []string{"labels", "annotations"}[random.IntN(2)]
	d.count("metadata of a config")
	return d.patchConfig(ctx, c, "labeller", map[string]any{"metadata": map[string]any{field: map[string]any{"noise": d.value()}}}, "", nil)
}

// editBlindly sets a key that no pod sees.
func (d *driver) editBlindly(ctx context.Context, random *rand.Rand, c *config) error {
	if c.content == nil || len(c.blind) == 0 {
		return d.label(ctx, random, c)
	}
	d.count("key that nobody sees")
	return d.setKey(ctx, c, c.blind[random.IntN(len(c.blind))], d.value())
}

// edit sets, or removes, a key that some pod may see.
func (d *driver) edit(ctx context.Context, random *rand.Rand, c *config) error {
	if c.content == nil || !c.lively {
		return d.label(ctx, random, c)
	}
	keys := []string{"data/a", "data/a", "data/b", "data/more"}
	if c.kind == "configmap" {
		keys = append(keys, "binary/blob")
	}
	key := keys[random.IntN(len(keys))]
	if _, present := c.content[key]; present && c.steady && key == "data/more" {
		d.count("key removed")
		return d.setKey(ctx, c, key, "")
	}
	d.count("key of a config")
	return d.setKey(ctx, c, key, d.value())
}

// setKey sets a key, or removes it if the value is empty.
func (d *driver) setKey(ctx context.Context, c *config, key, value string) error {
	field, name, _ := strings.Cut(key, "/")
	var written any
	what := "key " + key + " removed"
	edited := maps.Clone(c.content)
	delete(edited, key)
	if value != "" {
		edited[key], written, what = value, value, "key "+key+" set to "+value
		if c.kind == "secret" || field == "binary" {
			written = base64.StdEncoding.EncodeToString([]byte(value))
		}
	}
	if field == "binary" {
		field = "binaryData"
	}
	return d.patchConfig(ctx, c, "edit-"+name, map[string]any{field: map[string]any{name: written}}, what, edited)
}

// patchConfig patches a config; edited is its content then, nil if it stays.
func (d *driver) patchConfig(ctx context.Context, c *config, manager string, patch any, what string, edited map[string]string) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode a patch: %w", err)
	}
	begin := time.Now()
	err = until(ctx, nil, func(ctx context.Context) (err error) {
		if c.kind == "secret" {
			_, err = d.client.CoreV1().Secrets(c.namespace).Patch(ctx, c.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
		} else {
			_, err = d.client.CoreV1().ConfigMaps(c.namespace).Patch(ctx, c.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("edit %s: %w", c.name, err)
	}
	if edited != nil {
		c.content = edited
		d.tell(c, begin, what)
	}
	return nil
}

// tell tells the model of the present content.
func (d *driver) tell(c *config, begin time.Time, what string) {
	d.judge.configure(model.Edit{Begin: begin, End: time.Now(), Config: c.ref(), Content: maps.Clone(c.content), What: what})
}

func (d *driver) makeConfig(ctx context.Context, c *config, what string) error {
	data, binary := map[string]string{}, map[string][]byte{}
	secret := map[string][]byte{}
	for key, value := range c.content {
		field, name, _ := strings.Cut(key, "/")
		switch {
		case c.kind == "secret":
			secret[name] = []byte(value)
		case field == "binary":
			binary[name] = []byte(value)
		default:
			data[name] = value
		}
	}
	meta, options := metav1.ObjectMeta{Namespace: c.namespace, Name: c.name}, metav1.CreateOptions{FieldManager: maker}
	begin := time.Now()
	err := until(ctx, apierrors.IsAlreadyExists, func(ctx context.Context) (err error) {
		if c.kind == "secret" {
			_, err = d.client.CoreV1().Secrets(c.namespace).Create(ctx, &corev1.Secret{ObjectMeta: meta, Data: secret}, options)
		} else {
			_, err = d.client.CoreV1().ConfigMaps(c.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta, Data: data, BinaryData: binary}, options)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("make %s: %w", c.name, err)
	}
	d.tell(c, begin, what)
	return nil
}

// remake deletes a config or makes a deleted one again, with other content: an optional
// config that comes back as it was is no change (docs/design.md, Limits).
func (d *driver) remake(ctx context.Context, random *rand.Rand, c *config) error {
	if !c.steady || !c.lively {
		return d.label(ctx, random, c)
	}
	if c.content == nil {
		return d.restore(ctx, c)
	}
	d.count("config deleted")
	begin := time.Now()
	err := until(ctx, apierrors.IsNotFound, func(ctx context.Context) error {
		if c.kind == "secret" {
			return d.client.CoreV1().Secrets(c.namespace).Delete(ctx, c.name, metav1.DeleteOptions{})
		}
		return d.client.CoreV1().ConfigMaps(c.namespace).Delete(ctx, c.name, metav1.DeleteOptions{})
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", c.name, err)
	}
	c.content = nil
	d.tell(c, begin, "deleted")
	return nil
}

func (d *driver) restore(ctx context.Context, c *config) error {
	d.count("config made again")
	c.content = map[string]string{"data/a": d.value(), "data/b": d.value()}
	return d.makeConfig(ctx, c, "made again")
}

// toggle opts a workload in or out.
func (d *driver) toggle(ctx context.Context, w *workload) error {
	if w.steady || w.never {
		return nil
	}
	d.count("opt-in toggled")
	w.enabled = !w.enabled
	value := any("enabled")
	if !w.enabled {
		value = nil
	}
	return d.patchWorkload(ctx, w, "opt", map[string]any{"metadata": map[string]any{"annotations": map[string]any{enabledAnnotation: value}}})
}

func (d *driver) scale(ctx context.Context, random *rand.Rand, w *workload) error {
	if w.kind == "DaemonSet" {
		return nil
	}
	d.count("workload scaled")
	w.replicas = 1 + random.Int32N(4)
	if !w.steady && random.IntN(3) == 0 {
		w.replicas = 0
	}
	return d.patchWorkload(ctx, w, "scaler", map[string]any{"spec": map[string]any{"replicas": w.replicas}})
}

func (d *driver) pause(ctx context.Context, w *workload) error {
	if w.kind != "Deployment" {
		return nil
	}
	d.count("paused or resumed")
	w.paused = !w.paused
	return d.patchWorkload(ctx, w, "pauser", map[string]any{"spec": map[string]any{"paused": w.paused}})
}

// roll gives a workload another pod template.
func (d *driver) roll(ctx context.Context, w *workload) error {
	if w.steady {
		return nil
	}
	d.count("pod template edited")
	w.image++
	return d.patchWorkload(ctx, w, "releaser", map[string]any{"spec": map[string]any{"template": map[string]any{
		"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": fmt.Sprintf("example/main:%d", w.image)}}}}}})
}

func (d *driver) patchWorkload(ctx context.Context, w *workload, manager string, patch any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode a patch: %w", err)
	}
	apps, options := d.client.AppsV1(), metav1.PatchOptions{FieldManager: manager}
	err = until(ctx, nil, func(ctx context.Context) (err error) {
		switch w.kind {
		case "Deployment":
			_, err = apps.Deployments(w.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, body, options)
		case "StatefulSet":
			_, err = apps.StatefulSets(w.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, body, options)
		default:
			_, err = apps.DaemonSets(w.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, body, options)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("patch %s %s: %w", w.kind, w.name, err)
	}
	return nil
}

func (d *driver) makeWorkload(ctx context.Context, w *workload) error {
	apps, options := d.client.AppsV1(), metav1.CreateOptions{FieldManager: maker}
	err := until(ctx, apierrors.IsAlreadyExists, func(ctx context.Context) (err error) {
		switch w.kind {
		case "Deployment":
			_, err = apps.Deployments(w.namespace).Create(ctx, w.deployment(), options)
		case "StatefulSet":
			_, err = apps.StatefulSets(w.namespace).Create(ctx, w.statefulSet(), options)
		default:
			_, err = apps.DaemonSets(w.namespace).Create(ctx, w.daemonSet(), options)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("make %s %s: %w", w.kind, w.name, err)
	}
	return nil
}

// remakeWorkload deletes a workload and makes it again.
func (d *driver) remakeWorkload(ctx context.Context, random *rand.Rand, w *workload) error {
	if w.steady {
		return nil
	}
	d.count("workload made again")
	apps := d.client.AppsV1()
	options := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	err := until(ctx, apierrors.IsNotFound, func(ctx context.Context) error {
		switch w.kind {
		case "Deployment":
			return apps.Deployments(w.namespace).Delete(ctx, w.name, options)
		case "StatefulSet":
			return apps.StatefulSets(w.namespace).Delete(ctx, w.name, options)
		default:
			return apps.DaemonSets(w.namespace).Delete(ctx, w.name, options)
		}
	})
	if err != nil {
		return fmt.Errorf("delete %s %s: %w", w.kind, w.name, err)
	}
	if w.kind == "StatefulSet" { // its pods' names are needed again; the garbage collector can be late
		err := until(ctx, nil, func(ctx context.Context) error {
			return d.client.CoreV1().Pods(w.namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))},
				metav1.ListOptions{LabelSelector: "app=" + w.name})
		})
		if err != nil {
			return fmt.Errorf("delete the pods of %s: %w", w.name, err)
		}
	}
	w.paused, w.replicas = false, 1+random.Int32N(3)
	return d.makeWorkload(ctx, w)
}

// wakeStatefulSets makes their controller look at all of them at once. Where it has failed
// often, as when an orphaned pod has the name of one to come, it would do so only after up
// to a quarter of an hour.
func (d *driver) wakeStatefulSets(ctx context.Context) error {
	return d.share(ctx, func(ctx context.Context, w int) error {
		for i := w; i < len(d.world.workloads); i += workers {
			if app := d.world.workloads[i]; app.kind == "StatefulSet" {
				err := d.patchWorkload(ctx, app, "waker", map[string]any{"metadata": map[string]any{"labels": map[string]any{"woken": d.value()}}})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// calmDown resumes what is paused, and makes again what is deleted: configs that are
// gone would not be judged.
func (d *driver) calmDown(ctx context.Context) error {
	return d.share(ctx, func(ctx context.Context, w int) error {
		for i := w; i < len(d.world.workloads); i += workers {
			if app := d.world.workloads[i]; app.paused {
				if err := d.pause(ctx, app); err != nil {
					return err
				}
			}
		}
		for i := w; i < len(d.world.configs); i += workers {
			if c := d.world.configs[i]; c.content == nil {
				if err := d.restore(ctx, c); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
