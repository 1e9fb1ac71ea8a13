// Threads for oneDNN's loops: it is compiled for OpenMP, whose threads (libgomp's) either sleep between two calls, and
// then wake 60 microseconds late in every one, or spin, and then keep a core from the step's own threads. UseTeams puts
// workers (base/workers.h) behind the few functions of OpenMP that oneDNN calls.
#ifndef WEIR_DEVICE_CPU_TEAMS_H_
#define WEIR_DEVICE_CPU_TEAMS_H_

namespace weir {

// Makes a library that was loaded call Teams' functions in place of OpenMP's. False, having changed nothing, if it
// calls one that Teams does not have, or none at all. REQUIRES: no other thread runs the library's code.
bool UseTeams(void* library);

// How many threads the calling thread's next regions have, as omp_set_num_threads says it.
void SetTeamSize(int threads);

// Runs `function(data)` in a team of that many threads, the calling one among them, and waits for all. Within a team it
// is run by the calling thread alone.
void RunTeam(void (*function)(void*), void* data, int threads);

// Of the team that the calling thread is in.
int TeamMember();  // from 0
int TeamSize();
void TeamBarrier();

// A loop from `start` to before `end` of which each member has a part, or every so many steps a chunk: where its next
// part begins and ends. False if there is none left.
// NOLINTBEGIN(google-runtime-int): OpenMP's types
bool FirstStaticPart(long start, long end, long step, long chunk, long* first, long* last);
bool NextStaticPart(long* first, long* last);
// NOLINTEND(google-runtime-int)

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_TEAMS_H_
