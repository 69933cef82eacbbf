package attribution

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestReadName reads names as trainers, servers and their users write them.
func TestReadName(t *testing.T) {
	for _, tt := range []struct{ path, id, rest string }{
		// One file a rank, in a folder per iteration.
		{"iteration_10/rank0_memory_snapshot.pickle", "0", "iteration_10/memory_snapshot"},
		{"iteration_10_exit/rank12_memory_snapshot.pickle", "12", "iteration_10_exit/memory_snapshot"},
		{"step_5_rank3/snapshot.pickle", "3", "step_5/snapshot"},
		{"oom_rank3/snapshot.pickle", "3", "oom/snapshot"},
		{"rank_03/0001.pickle.gz", "3", "0001"},
		// rank with any separator.
		{"rank0_forward.pickle.zst", "0", "forward"},
		{"memory_snapshot-rank7.pickle", "7", "memory_snapshot"},
		{"memory_snapshot-rank7_iter20.pickle", "7", "memory_snapshot_iter20"},
		{"oom_rank-3_snapshot.pickle", "3", "oom_snapshot"},
		{"mem_snapshot_rank_0.pickle", "0", "mem_snapshot"},
		{"rank.4.pickle", "4", ""},
		{"rank=4.pickle", "4", ""},
		{"Rank4.PKL", "4", ""},
		{"rank0.5.memory_snapshot", "0", "5_memory_snapshot"},
		{"ep0-ba3-rank0.pickle", "0", "ep0_ba3"},
		{"policy_rank_3_training_step_10_2.pickle", "3", "policy_training_step_10_2"},
		{"memory_snapshot_rank0_step6.pkl", "0", "memory_snapshot_step6"},
		{"oom_memory_snapshot_rank1_step200.pkl", "1", "oom_memory_snapshot_step200"},
		{"rank0of8.pickle", "0", ""},
		{"snapshot-00003-of-00008.pickle", "3", "snapshot"},
		{"llama_tp2_pp4_rank3.pickle", "3", "llama"},
		{"global_rank_9_mem.pickle", "9", "global_mem"},
		{"rank_id_2.pickle", "2", ""},
		// With a time of day, which is neither rank nor moment.
		{"memory_snapshot_time1758551299.0762882_rank3_snapshot.pickle", "3", "memory_snapshot_time_snapshot"},
		{"memory_snapshot_rank3_t1758551299.07.pickle", "3", "memory_snapshot_t"},
		{"rank3_2024-05-01T12:30:59.pickle", "3", ""},
		{"rank3_20240501_123059.pickle", "3", ""},
		{"node-7_Apr_05_12_34_56.pickle", "node7", ""},
		{"1758551300.159891-TP-0-memory.pickle", "tp0", "memory"},
		{"prefill-PP1-TP3-memory1758551300.159891.pickle", "pp1 tp3", "prefill_memory"},
		// Short forms, other words, and coordinates.
		{"prof_memsnap_r3.pkl", "3", "prof_memsnap"},
		{"mem_r03.pickle", "3", "mem"},
		{"worker2.pickle", "2", ""},
		{"actor3_memory_snapshot_mb4_gpipe.pickle", "3", "memory_snapshot_mb4_gpipe"},
		{"cuda_mem_snapshots_device-3.pickle", "3", "cuda_mem_snapshots"},
		{"node1_gpu3.pickle", "node1/3", ""},
		{"node_rank_1_local_rank_3.pickle", "node1/3", ""},
		{"cuda-oom-rank-11-local-3.pickle", "11", "cuda_oom"},
		{"ip-10-0-1-5_gpu2.pickle", "ip-10-0-1-5/2", ""},
		{"10.0.1.5_gpu2.pickle", "10.0.1.5/2", ""},
		{"tp_rank_1_pp_rank_0.pickle", "pp0 tp1", ""},
		{"dp0_pp1_tp2_cp3.pickle", "pp1 dp0 cp3 tp2", ""},
		{"mp_rank_02.pickle", "mp2", ""},
		{"capture_mem_target_tp0.pickle", "tp0", "capture_mem_target"},
		{"TP-0-EP-1.pickle", "ep1 tp0", ""},
		{"fsdp_rank_2.pickle", "fsdp2", ""},
		{"pipeline_stage_1.pickle", "pp1", "pipeline"},
		// No rank at all.
		{"snapshot.pickle", "?", "snapshot"},
		{"0_forward.pickle", "?", "0_forward"},
		{"snapshot_3.pickle", "?", "snapshot_3"},
		{"memsnapshot.0.pickle", "?", "memsnapshot_0"},
		{"snapshot_2024-05-01-12-30_7.pickle", "?", "snapshot_7"},
		{"visual_mem_2024_05_01_12_30_00_3.pickle", "?", "visual_mem_3"},
		{"epoch3.pickle", "?", "epoch3"},
		{"fsdp2_zero_stage_3.pickle", "?", "fsdp2_zero_stage_3"},
		{"run_a3f9c0b1.pickle", "?", "run_a3f9c0b1"},
		{"h100_8gpu_b32.pickle", "?", "h100_8_gpu_b32"},
		{"", "?", ""},
		{"....", "?", ""},
	} {
		n := readName(tt.path)
		if got := n.id.String(); got != tt.id {
			t.Errorf("%s: rank %q, want %q", tt.path, got, tt.id)
		}
		if got := n.key(); got != tt.rest {
			t.Errorf("%s: the rest is %q, want %q", tt.path, got, tt.rest)
		}
	}
}

// TestPlanRanks chooses the files to compare from names alone.
func TestPlanRanks(t *testing.T) {
	for _, tt := range []struct {
		name, files, at string
		want            string // rank of each chosen file, then the moments
	}{
		{"phases", "d/rank0_forward d/rank1_forward d/rank0_end d/rank1_end d/rank0_backward d/rank1_backward", "",
			"0=d/rank0_end 1=d/rank1_end | forward:2 backward:2 *end:2"},
		{"asked for", "d/rank0_forward d/rank1_forward d/rank0_end d/rank1_end", "forw",
			"0=d/rank0_forward 1=d/rank1_forward | *forward:2 end:2"},
		{"iterations", "iteration_9/rank0_m iteration_9/rank1_m iteration_10/rank0_m iteration_10/rank1_m", "",
			"0=iteration_10/rank0_m 1=iteration_10/rank1_m | iteration_9:2 *iteration_10:2"},
		{"a crash leaves one rank behind", "iteration_10/rank0_m iteration_10/rank1_m iteration_10_exit/rank1_m", "",
			"0=iteration_10/rank0_m 1=iteration_10/rank1_m | *iteration_10:2 iteration_10_exit:1"},
		{"times differ", "s_time1758551299.1_rank0 s_time1758551299.2_rank1 s_time1758551399.1_rank0 s_time1758551399.3_rank1", "",
			"0=s_time1758551399.1_rank0 1=s_time1758551399.3_rank1 | *:2"},
		{"bare numbers", "snap_0 snap_1 snap_2 snap_10 snap_3 snap_4 snap_5", "",
			"0=snap_0 1=snap_1 2=snap_2 3=snap_3 4=snap_4 5=snap_5 10=snap_10 | *:7"},
		{"iterations and bare numbers", "snap_500_0 snap_500_1 snap_1000_0 snap_1000_1", "",
			"0=snap_1000_0 1=snap_1000_1 | snap_500:2 *snap_1000:2"},
		{"a number that is a step", "500_memory_snapshot 1000_memory_snapshot 1500_memory_snapshot", "",
			"?=500_memory_snapshot ?=1000_memory_snapshot ?=1500_memory_snapshot | 500:1 1000:1 1500:1"},
		{"dates and bare numbers", "snapshot_2024-05-01-12-30_0.pickle snapshot_2024-05-01-12-31_1.pickle", "",
			"0=snapshot_2024-05-01-12-30_0.pickle 1=snapshot_2024-05-01-12-31_1.pickle | *:2"},
		{"one process", "init forward backward step end", "", "?=end | init:1 forward:1 backward:1 step:1 *end:1"},
		{"epochs of one process", "epoch9 epoch10", "", "?=epoch10 | epoch9:1 *epoch10:1"},
		{"a host and a time each", "hostA_Apr_05_12_34_56.pickle hostA_Apr_05_12_34_57.pickle", "",
			"?=hostA_Apr_05_12_34_56.pickle ?=hostA_Apr_05_12_34_57.pickle | *:2"},
		{"machines with ranks of their own", "node0/rank0 node0/rank1 node1/rank0 node1/rank1", "",
			"node0/0=node0/rank0 node0/1=node0/rank1 node1/0=node1/rank0 node1/1=node1/rank1 | *:4"},
		{"machines with global ranks", "node0/rank0 node0/rank1 node1/rank2 node1/rank3", "",
			"0=node0/rank0 1=node0/rank1 2=node1/rank2 3=node1/rank3 | *:4"},
		{"replicas with ranks of their own", "replica_0/rank0 replica_0/rank1 replica_1/rank0 replica_1/rank1", "",
			"replica0 rank0=replica_0/rank0 replica0 rank1=replica_0/rank1 replica1 rank0=replica_1/rank0 replica1 rank1=replica_1/rank1 | *:4"},
		{"sizes are no coordinates", "tp2_pp4_0 tp2_pp4_1", "", "0=tp2_pp4_0 1=tp2_pp4_1 | *:2"},
		{"compressed twice", "rank0.pickle rank0.pickle.zst rank1.pickle", "", "0=rank0.pickle.zst 1=rank1.pickle | *:2"},
		{"the rank is in a folder above", "run/rank3/init.pickle run/rank3/end.pickle", "", "3=run/rank3/end.pickle | init:1 *end:1"},
		{"global ranks on named machines", "alpha_rank0 alpha_rank1 beta_rank2 beta_rank3", "", "0=alpha_rank0 1=alpha_rank1 2=beta_rank2 3=beta_rank3 | *:4"},
		{"the same at several steps", "alpha_rank0_step5 alpha_rank0_step10 beta_rank1_step5 beta_rank1_step10", "", "0=alpha_rank0_step10 1=beta_rank1_step10 | step5:2 *step10:2"},
		{"process ids", "mem_rank0_pid811 mem_rank1_pid812", "", "0=mem_rank0_pid811 1=mem_rank1_pid812 | *:2"},
		{"one moment each", "rank0_end rank1_forward", "", "0=rank0_end | forward:1 *end:1"},
		{"a rank in the suffix", "snapshot.pickle.0 snapshot.pickle.1", "", "0=snapshot.pickle.0 1=snapshot.pickle.1 | *:2"},
		{"one file", "a/b/oom_rank-3_snapshot.pickle", "", "3=a/b/oom_rank-3_snapshot.pickle | *:1"},
	} {
		var sources []RankSource
		for path := range strings.FieldsSeq(tt.files) {
			sources = append(sources, RankSource{Path: path, Named: true})
		}
		for range 2 { // in any order
			p, err := planRanks(sources, planOptions{at: tt.at})
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			if got := planText(&p); got != tt.want {
				t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
			}
			slices.Reverse(sources)
		}
	}
}

func planText(p *rankPlan) string {
	var parts []string
	for _, f := range p.files {
		parts = append(parts, f.ID.String()+"="+f.Source.Path)
	}
	parts = append(parts, "|")
	for i, m := range p.moments {
		mark := ""
		if i == p.chosen {
			mark = "*"
		}
		parts = append(parts, fmt.Sprintf("%s%s:%d", mark, m.Name, m.Ranks))
	}
	return strings.Join(parts, " ")
}

func FuzzReadName(f *testing.F) {
	for _, name := range []string{"iteration_10/rank0_memory_snapshot.pickle", "node1_gpu3", "ip-10-0-1-5_2024-05-01T12:30:59_3_of_8", "rank999999999999", "a\x00b/../r3"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		n := readName(name)
		for _, i := range n.bare {
			if n.rest[i].kind != numberToken {
				t.Errorf("%q: token %d is no number", name, i)
			}
		}
		for _, r := range n.id.String() + n.key() {
			if r < ' ' {
				t.Errorf("%q: %q may act on a terminal", name, n.id.String()+n.key())
			}
		}
		if compareNatural(name, name) != 0 {
			t.Errorf("%q differs from itself", name)
		}
		if _, err := planRanks([]RankSource{{Path: name}, {Path: name + "1"}, {Path: "rank1/" + name}}, planOptions{}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	})
}

func TestRankRanges(t *testing.T) {
	for _, tt := range []struct{ labels, want string }{
		{"0 1 2 3 5 8 9", "0-3, 5, 8, 9"},
		{"node0/0 node0/1 node0/2 node1/0", "node0/0-2, node1/0"},
		{"#0 #1 #2", "#0-2"},
		{"pp0_tp1 pp0_tp2 pp0_tp3", "pp0_tp1-3"},
		{"0 2 4 6", "0, 2, 4 and 1 more"},
	} {
		if got := RankRanges(strings.Fields(tt.labels), 3); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.labels, got, tt.want)
		}
	}
}

// Of a folder in which a few names tell ranks those are compared, however many
// others there are.
func TestPlanOfFolderWithOthers(t *testing.T) {
	for _, tt := range []struct{ name, files, at, want, fails string }{
		{"another", "rank5 x1e9", "", "5=rank5 | *:1 x1e9:0", ""},
		{"many others", "rank1_a alpha beta gamma delta", "", "1=rank1_a | *a:1 alpha:0 beta:0 delta:0 gamma:0", ""},
		{"one of them by name", "rank1_a alpha", "alpha", "", "there are a"},
	} {
		var sources []RankSource
		for path := range strings.FieldsSeq(tt.files) {
			sources = append(sources, RankSource{Path: path})
		}
		p, err := planRanks(sources, planOptions{at: tt.at})
		switch {
		case tt.fails != "":
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v", tt.name, err)
			}
		case err != nil || planText(&p) != tt.want:
			t.Errorf("%s: %v\n got %s\nwant %s", tt.name, err, planText(&p), tt.want)
		}
	}
}
