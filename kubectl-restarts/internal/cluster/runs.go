package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

// runKinds are the kinds of runs, which are read as further kinds of workloads are.
var runKinds = map[facts.RunKind]custom.Kind{
	facts.CronJob: {Resource: "cronjobs", Version: "v1", Group: batchv1.GroupName, Path: []string{"spec", "jobTemplate", "spec", "template"}},
	facts.Job:     {Resource: "jobs", Version: "v1", Group: batchv1.GroupName, Path: []string{"spec", "template"}},
}

// Runs lists the CronJobs of a namespace, and the Jobs that no other object has made and that have not ended. It leaves out
// kinds that the caller may not list; the runs are nil if that is so of all.
func (c *Cluster) Runs(ctx context.Context, namespace string) (runs []facts.Run, err error) {
	for _, name := range []facts.RunKind{facts.CronJob, facts.Job} {
		found, err := c.runsOf(ctx, name, namespace)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err): // or not served
		case err != nil:
			return nil, err
		case runs == nil:
			runs = append([]facts.Run{}, found...)
		default:
			runs = append(runs, found...)
		}
	}
	return runs, nil
}

func (c *Cluster) runsOf(ctx context.Context, name facts.RunKind, namespace string) (runs []facts.Run, err error) {
	kind := runKinds[name]
	client, err := apiclient.ConnectCustom(c.config, kind.GroupVersion(), custom.NewObject)
	if err != nil {
		return nil, err
	}
	list := apiclient.List{Client: client, Resource: kind.Resource, Namespace: namespace}
	err = apiclient.EachPage(ctx, list, func() *custom.List { return &custom.List{} }, func() { runs = nil }, func(page *custom.List) {
		for i := range page.Items {
			object := &page.Items[i]
			if metav1.GetControllerOfNoCopy(object) != nil || hasEnded(object) {
				continue
			}
			if run, err := newRun(name, object); err == nil {
				runs = append(runs, run)
			}
		}
	})
	return runs, err
}

// Run reads a CronJob or a Job. The error is one of k8s.io/apimachinery/pkg/api/errors, unless its pod template cannot be read.
func (c *Cluster) Run(ctx context.Context, name facts.RunKind, namespace, object string) (facts.Run, error) {
	kind := runKinds[name]
	client, err := apiclient.ConnectCustom(c.config, kind.GroupVersion(), custom.NewObject)
	if err != nil {
		return facts.Run{}, err
	}
	var found custom.Object
	if err := client.Get().Namespace(namespace).Resource(kind.Resource).Name(object).Do(ctx).Into(&found); err != nil {
		return facts.Run{}, err
	}
	return newRun(name, &found)
}

func newRun(name facts.RunKind, object *custom.Object) (facts.Run, error) {
	run := facts.Run{Kind: name, Namespace: object.Namespace, Name: object.Name}
	parts := runKinds[name].Parts(object)
	if parts.Template == nil {
		return run, fmt.Errorf("%s: its pod template cannot be read: %s", run.String(), parts.Problem)
	}
	var fit bool
	if run.References, fit = template.ReferencesOf(object.Namespace, &parts.Template.Spec, template.Filter{}); !fit {
		return run, fmt.Errorf("%s has more than %d references to ConfigMaps and Secrets", run.String(), template.MaxReferences)
	}
	return run, nil
}

// hasEnded reports whether an object is a Job that does not run any more.
func hasEnded(object *custom.Object) bool {
	var status batchv1.JobStatus
	if json.Unmarshal(object.Status, &status) != nil {
		return false
	}
	return slices.ContainsFunc(status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == "True"
	})
}
