// Package template finds what the containers of a pod template read of which configs.
//
// Vocabulary:
//
//   - A reference is one way in which containers read a config. Its channel is the environment, a volume or the API,
//     and its selection says which keys they see.
//   - A filter is what the annotations "only", "ignore" and "also" of a workload say. References that do not count are
//     not in the index, not compared and not recorded.
//   - Rules take the place of a list of keys where a filter leaves out some keys of a config.
//
// # Merged references
//
// A pod template can repeat a reference a thousand times. So references that differ only in their keys are merged: one
// remains for each config, container (for environment variables) and optionality. A pod template may have 10,000
// references.
//
// # Replaced values
//
// Only the pod template decides which values are replaced, by the rules of the kubelet: later variables replace
// earlier ones, unless something refers to them before that. What is uncertain counts: keys that keys of another
// config replace (two envFrom, or two sources of a projected volume without items), an optional source that may not be
// there, a mount in the directory of another one, and any file of a volume with a subPathExpr. So do the keys that are
// replaced in more than 16 ways in a template, or by more than 256 variables of a container.
//
// # References through the API
//
// Nothing in the cluster shows when a program reads a config through the API. So a reference by "also" is as good as
// one from the environment of every container: a pod has missed an edit if any of its containers started before it.
// "also" takes no wildcards for configs, because the index finds workloads by names.
//
// # Limits
//
// Anyone may write filters. An annotation has 4,096 bytes and 100 entries, 10 of them with wildcards: each of these
// can match ten thousand configs.
//
// No API server has decoded the templates of custom resources and of ControllerRevisions. A quantity such as
// 1e-2000000000 would take all memory, so their size is checked before they are decoded.
package template
