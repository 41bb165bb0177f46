// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITreasury} from "../../../src/ITreasury.sol";
import {TreasuryTest} from "../TreasuryTest.sol";

contract FallbackTest is TreasuryTest {
    function testFuzz_WhenValueComesWithData(uint256 value, uint256 sequenceNumber) external {
        value = between(value, 1, type(uint128).max);
        vm.deal(stranger, value);
        bytes memory memo = bytes.concat("memo", bytes28(uint224(sequenceNumber)));

        vm.expectEmit(address(treasury));
        emit ITreasury.NativeReceived(stranger, value, memo);
        assertTrue(_send(value, memo), "taken");
    }

    function test_RevertWhen_TheValueIsZero() external {
        vm.expectRevert(abi.encodeWithSelector(ITreasury.UnknownCall.selector, bytes4("memo")));
        _send(0, "memo");
    }

    function test_RevertWhen_TheDataIsTheSelectorOfAFunction() external {
        vm.deal(stranger, 1 ether);
        assertTrue(!_send(1 ether, abi.encodeCall(ITreasury.isPaid, (INTENT))), "refused");
    }

    function _send(uint256 value, bytes memory data) private returns (bool sent) {
        vm.prank(stranger);
        (sent,) = address(treasury).call{value: value}(data);
    }
}
