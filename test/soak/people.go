package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

const (
	resumeAnnotation = "com.xing.deployment-restart.resume"
	haltsName        = "kubernetes-deployment-restart-controller-halts"

	// People resume a halt after a while, unless somebody has changed the content before.
	soonestResume, latestResume = 8 * time.Second, 30 * time.Second
)

// people look at the halts that the controllers keep, and resume those that last.
type people struct {
	client    kubernetes.Interface
	judge     *judge
	namespace string // of the controllers
	random    *rand.Rand
	hurry     atomic.Bool // at the end

	mu      sync.Mutex
	halts   []keptHalt
	resumes map[string]time.Time // when to resume a halt, by its id
}

// keptHalt is a halt in the ConfigMap of halts.
type keptHalt struct {
	model.Halt
	config config // only its names
}

func newPeople(client kubernetes.Interface, judge *judge, namespace string, seed uint64) *people {
	return &people{client: client, judge: judge, namespace: namespace, random: rand.New(rand.NewPCG(seed, 3)), resumes: map[string]time.Time{}}
}

// watch looks at the halts until the context ends.
func (p *people) watch(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, time.Second) {
		if err := p.look(ctx); err == nil {
			p.resumeOld(ctx)
		}
	}
}

// look shows the judge the present halts.
func (p *people) look(ctx context.Context) error {
	object, err := p.client.CoreV1().ConfigMaps(p.namespace).Get(ctx, haltsName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the halts: %w", err)
	}
	halts, err := haltsIn(object, time.Now())
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.halts = halts
	for i := range halts {
		p.judge.seeHalt(halts[i].Halt)
	}
	return nil
}

// haltsIn reads the ConfigMap of halts.
func haltsIn(object *corev1.ConfigMap, now time.Time) (halts []keptHalt, err error) {
	for name, entry := range object.Data {
		kind, rest, _ := strings.Cut(name, ".")
		namespace, configName, isConfig := strings.Cut(rest, ".")
		if !isConfig || !strings.HasPrefix(namespace, "soak-") || kind == "exposed" { // which is for the next leader
			continue
		}
		var kept []struct {
			ID             string
			Keys, Failed   []string
			Since, Resumed time.Time
			Gone           bool
		}
		if err := json.Unmarshal([]byte(entry), &kept); err != nil {
			return nil, fmt.Errorf("read the halts of %s: %w", name, err)
		}
		for _, k := range kept {
			h := keptHalt{config: config{kind: kind, namespace: namespace, name: configName}}
			h.Halt = model.Halt{At: now, Version: versionOf(object), ID: k.ID, Config: h.config.ref(), Since: k.Since, Resumed: !k.Resumed.IsZero(), Gone: k.Gone}
			for _, key := range k.Keys {
				h.Keys = append(h.Keys, "data/"+key, "binary/"+key)
			}
			for _, failed := range k.Failed {
				kind, name, _ := strings.Cut(failed, "/")
				h.Failed = append(h.Failed, model.WorkloadRef{Kind: kindsByName[kind], Name: name})
			}
			halts = append(halts, h)
		}
	}
	return halts, nil
}

var kindsByName = map[string]string{"deployment": "Deployment", "statefulset": "StatefulSet", "daemonset": "DaemonSet", "gadgets.soak.example.com": gadgetKind}

// haltedSince returns when the restarts for a config were halted, zero if they are not.
func (p *people) haltedSince(c *config) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.halts {
		if h := &p.halts[i]; h.Config == c.ref() && h.Holds() {
			return h.Since
		}
	}
	return time.Time{}
}

// resumeOld resumes the halts that have lasted for long. What fails is tried again.
func (p *people) resumeOld(ctx context.Context) {
	p.mu.Lock()
	halts := p.halts
	p.mu.Unlock()
	for i := range halts {
		h := &halts[i]
		due, known := p.resumes[h.ID]
		if !known {
			due = time.Now().Add(between(p.random, soonestResume, latestResume))
			p.resumes[h.ID] = due
		}
		if !h.Holds() || time.Now().Before(due) && !p.hurry.Load() {
			continue
		}
		p.judge.resume(model.Resume{Begin: time.Now(), ID: h.ID})
		if err := p.resume(ctx, &h.config, h.ID); err == nil || apierrors.IsNotFound(err) {
			p.resumes[h.ID] = time.Now().Add(soonestResume) // if another halt of the config is resumed before it is seen
		}
	}
}

func (p *people) resume(ctx context.Context, c *config, id string) (err error) {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, resumeAnnotation, id)
	options := metav1.PatchOptions{FieldManager: "resumer"}
	if c.kind == "secret" {
		_, err = p.client.CoreV1().Secrets(c.namespace).Patch(ctx, c.name, types.MergePatchType, patch, options)
	} else {
		_, err = p.client.CoreV1().ConfigMaps(c.namespace).Patch(ctx, c.name, types.MergePatchType, patch, options)
	}
	return err
}

// requireNone returns an error if there are halts that are in force, or of contents that are gone without saying so.
func (p *people) requireNone(ctx context.Context) error {
	if err := p.look(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for i := range p.halts {
		h := &p.halts[i]
		switch {
		case h.Holds():
			errs = append(errs, fmt.Errorf("the halt %s of %s %s is in force", h.ID, h.config.kind, h.Config.Name))
		case !h.Gone && p.judge.isOutdated(h.Halt):
			errs = append(errs, fmt.Errorf("the halt %s of %s %s, which was resumed, is of a content that is gone, and does not say so", h.ID, h.config.kind, h.Config.Name))
		}
	}
	return errors.Join(errs...)
}
