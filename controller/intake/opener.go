package intake

import (
	"fmt"

	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/internal/watch"
)

// Sources is what a controller watches.
type Sources struct {
	Configs        []*kinds.ConfigKind
	Workloads      []*kinds.WorkloadKind
	NeedNamespaces bool
	CSI            bool     // whether mounts count
	Namespaces     []string // empty: all
}

// Opener opens the watches, which pass what they show to the intake.
type Opener struct {
	Clients *apiclient.Clients
	Intake  *Intake
	Watches *Watches
}

// Open opens all watches, in the order in which they list their objects: what a workload reads comes before it, and so does its
// Namespace, so that it is known whether it counts.
func (o *Opener) Open(what Sources) error {
	for _, kind := range what.Configs {
		for _, namespace := range apiclient.NamespacesOrAll(what.Namespaces) {
			o.configs(kind, namespace)
		}
	}
	if what.CSI {
		connected, err := o.Clients.Custom(custom.MountKind.GroupVersion(), custom.NewObject)
		if err != nil {
			return fmt.Errorf("make clients of %s: %w", custom.MountResource, err)
		}
		for _, namespace := range apiclient.NamespacesOrAll(what.Namespaces) {
			o.mounts(namespace, connected)
		}
	}
	if what.NeedNamespaces {
		for _, namespace := range apiclient.NamespacesOrAll(what.Namespaces) {
			o.namespaces(namespace)
		}
	}
	for _, kind := range what.Workloads {
		for _, namespace := range apiclient.NamespacesOrAll(what.Namespaces) {
			o.workloads(kind, namespace)
		}
	}
	return nil
}

func (o *Opener) configs(kind *kinds.ConfigKind, namespace string) {
	o.add(&ResourceWatch{config: kind, namespace: namespace}, watch.Options[*kinds.Observation]{
		Resource: kind.Resource, Kind: kind.GVK(), FieldSelector: kind.FieldSelector, Client: o.Clients.WatchCore,
		Reduce: func(object any) (*kinds.Observation, error) { return kind.Reduce(object, &o.Intake.OptIns.Rules) },
	})
}

func (o *Opener) workloads(kind *kinds.WorkloadKind, namespace string) {
	w := &ResourceWatch{Workload: kind, namespace: namespace, buffered: make(map[string]int)}
	options := watch.Options[*kinds.Observation]{
		Resource: kind.Resource, Kind: kind.GVK(), Client: o.Clients.WatchApps,
		Reduce: func(object any) (*kinds.Observation, error) {
			reduced, err := kind.Reduce(object, &o.Intake.OptIns.Rules)
			if err == nil {
				w.Buffer(reduced.Workload)
			}
			return reduced, err
		},
		Listing: func() { clear(w.buffered) }, // also after a list that broke off
	}
	if kind.Custom != nil {
		options.Client, options.Title, options.MayBeMissing = kind.Custom.Watch, string(kind.Workload), true
		options.NewPage = func() apiclient.Page { return &custom.List{} }
	}
	o.add(w, options)
}

// namespaces watches one Namespace, or all of them.
func (o *Opener) namespaces(name string) {
	kind := kinds.NamespaceKind{Rules: &o.Intake.OptIns.Rules}
	o.add(&ResourceWatch{namespace: name}, watch.Options[*kinds.Observation]{
		Resource: "namespaces", Only: name, Kind: kind.GVK(), Client: o.Clients.WatchCore, Reduce: kind.Reduce,
	})
}

// add completes a watch with the options that all watches share.
func (o *Opener) add(w *ResourceWatch, options watch.Options[*kinds.Observation]) {
	w.intake, w.Versions = o.Intake, VersionCounter{Inc: o.Intake.Metrics.ResourceVersions.Inc}
	if w.config != nil || w.Workload != nil || w.mounts {
		options.Namespace = w.namespace // Namespaces are in none
	}
	options.Name, options.Observer = (*kinds.Observation).Name, w
	options.Quarantine, options.Log = o.Intake.Quarantine, o.Intake.Log
	w.Watch = watch.New(options)
	o.Watches.All = append(o.Watches.All, w)
}

// mounts watches what the Secrets Store CSI driver reports of the volumes that it has mounted.
func (o *Opener) mounts(namespace string, client apiclient.CustomClients) {
	o.add(&ResourceWatch{mounts: true, namespace: namespace}, watch.Options[*kinds.Observation]{
		Resource: custom.MountResource, Kind: custom.MountKind, Client: client.Watch, Reduce: kinds.ReduceMount,
		NewPage: func() apiclient.Page { return &custom.List{} }, MayBeMissing: true,
	})
}
