// Package delivery judges what became of a restart. It is delivered when its pods run and stay up, and not when the
// API server accepts the patch. The package is pure.
//
//	rolling ---> delivered   as many pods run as before, for the soak time, and none is left of another template
//	rolling ---> failed      more are down than were missing before
//	rolling ---> neutral     at its deadline, or nobody can see how it ends; it says nothing about the content
//	rolling ---> away        nothing is to be seen for now; what it shows until its deadline counts
//	rolling ---> rolling     others restart the workload, undo the restart or change the template: pods since then count
//	rolling ---> ask         the pods must be read; then one of the others
//
// The rules:
//
//   - A failure counts only if pods ran before. The record says how many did not, since the status after it does not.
//   - At once, only crashes count. At the deadline, pods that hang do, and earlier ones that do not run.
//   - Only a new best is progress. So pods that crash again and again are read after 15 seconds without progress, then
//     after twice as long each time, and at the end of the soak time.
//   - A process follows the restarts of another one ([Resumes]) if they are younger than their deadline and a minute,
//     an hour at most, and were not complete for long. One by eviction is followed as long as pods are left, because
//     one pod at a time may take hours.
//   - [Evicting] turns the status of a restart by eviction into that of a rollout: earlier pods count as pods of an
//     earlier template. If no pod may be evicted, whatever they do, the verdict at the deadline is neutral.
//   - [Left] takes in the pods and keeps one, the next to evict: those that are not ready first, then the oldest.
package delivery
