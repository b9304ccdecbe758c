"""Hamming loss, cost margin, cross entropy."""

import pytest
import torch

from bbgm.methods.losses import add_margin, hamming_loss, permutation_loss


def test_hamming_loss_counts_disagreeing_entries_of_each_pair_and_takes_the_mean():
    match = [torch.eye(3), torch.zeros(2, 4)]
    truth = [torch.eye(3)[[1, 0, 2]].bool(), torch.eye(4)[:2]]
    assert hamming_loss(match, truth) == (4 + 2) / 2
    assert hamming_loss(match, match) == 0


def test_hamming_loss_of_a_padded_batch_is_the_same():
    match, truth = torch.eye(3).repeat(2, 1, 1), torch.stack([torch.eye(3), torch.ones(3, 3)])
    assert hamming_loss(match, truth) == hamming_loss(list(match), list(truth)) == 3


def test_gradient_of_the_hamming_loss_is_one_minus_twice_the_truth():
    match = [torch.eye(2, requires_grad=True), torch.zeros(1, 2, requires_grad=True)]
    hamming_loss(match, [torch.eye(2), torch.tensor([[False, True]])]).backward()
    torch.testing.assert_close(match[0].grad, torch.tensor([[-0.5, 0.5], [0.5, -0.5]]))
    torch.testing.assert_close(match[1].grad, torch.tensor([[0.5, -0.5]]))


@pytest.mark.parametrize(("match", "truth"), [([], []), ([torch.eye(2)], []), ([torch.eye(2)], [torch.zeros(2, 3)])])
def test_wrong_batches_are_errors(match, truth):
    with pytest.raises(ValueError, match="truth"):
        hamming_loss(match, truth)


def test_margin_raises_the_true_costs_only():
    truth = torch.tensor([[True, False], [False, False]])
    assert add_margin(torch.zeros(2, 2), truth, 1.5).tolist() == [[1.5, 0.0], [0.0, 0.0]]


def test_permutation_loss_is_the_cross_entropy_of_each_entry_and_finite_at_its_ends():
    torch.manual_seed(0)
    soft = [torch.rand(3, 3, dtype=torch.float64).requires_grad_(), torch.rand(2, 4, dtype=torch.float64)]
    truth = [torch.eye(3).bool(), torch.eye(4)[:2].bool()]
    expected = sum(
        torch.nn.functional.binary_cross_entropy(p, t.double(), reduction="sum")
        for p, t in zip(soft, truth, strict=True)
    )
    loss = permutation_loss([p.log() for p in soft], truth)
    torch.testing.assert_close(loss, expected / 2)
    assert torch.autograd.gradcheck(lambda p: permutation_loss([p.log()], truth[:1]), soft[:1])
    certain = torch.tensor([[0.0, -50.0], [-50.0, 0.0]], requires_grad=True)  # log P of a matching
    assert permutation_loss([certain], [torch.eye(2)]).item() == pytest.approx(0, abs=1e-6)
    wrong = permutation_loss([certain], [torch.eye(2).flip(0)])
    wrong.backward()
    assert wrong > 100
    assert certain.grad.isfinite().all()
