// Package controller is the restart controller: it assembles the packages below it, and runs them.
//
//	watch -> intake -> catalog -> pending (grace period) -> restart -> decide -> gate -> one patch
//	  -> answer and watch -> catalog: the record matches, done -> follow -> gate: the next may begin
//
// What it guarantees:
//
//   - A workload that did not opt in is never written to.
//   - A failed patch is tried again until it succeeds or is not needed any more. State changes only with what the API
//     server answers or sends.
//   - An object that causes a panic is left alone, and everything else continues.
//   - One process acts. Others keep their catalog and their changes up to date until they take over.
//
// # Memory
//
// Listing makes much garbage, normal operation little. So GOGC has its usual value while configs are listed, 40 while
// workloads are listed, and 20 after the first decisions, unless the environment sets it or the deployment engine
// runs.
package controller
