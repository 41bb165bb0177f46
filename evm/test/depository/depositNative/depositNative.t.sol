// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";

import {Depository} from "../../../src/Depository.sol";
import {IDepository} from "../../../src/IDepository.sol";
import {Forwarder, GasBurner, Refuser} from "../../actors/Receivers.sol";
import {Reenterer} from "../../actors/Reenterer.sol";
import {DepositoryTest} from "../DepositoryTest.sol";

contract DepositNativeTest is DepositoryTest {
    function test_RevertWhen_Paused() external {
        _pause();
        vm.expectRevert(Pausable.EnforcedPause.selector);
        _deposit(receiver, 1);
    }

    function testFuzz_RevertWhen_TheReceiverIsNotWhitelisted(address other, uint256 value) external {
        if (other == receiver) other = outsider;
        vm.expectRevert(Depository.NotWhitelisted.selector);
        _deposit(other, between(value, 0, user.balance));
    }

    function test_RevertWhen_TheValueIsZero() external {
        vm.expectRevert(Depository.ZeroAmount.selector);
        _deposit(receiver, 0);
    }

    function test_RevertGiven_TheReceiverRefusesTheValue() external {
        address refuser = address(new Refuser());
        _approveReceiver(refuser);
        vm.expectRevert(Depository.TransferFailed.selector);
        _deposit(refuser, 1 ether);
    }

    function test_RevertGiven_TheReceiverBurnsAllTheGas() external {
        address burner = address(new GasBurner());
        _approveReceiver(burner);
        vm.expectRevert(Depository.TransferFailed.selector);
        vm.prank(user);
        depository.depositNative{value: 1 ether, gas: 1_000_000}(ID, burner);
    }

    function test_RevertGiven_TheReceiverGainsNothing() external {
        address forwarder = address(new Forwarder(payable(outsider)));
        _approveReceiver(forwarder);
        vm.expectRevert(Depository.ZeroAmount.selector);
        _deposit(forwarder, 1 ether);
    }

    function test_GivenTheReceiverCallsBack() external {
        Reenterer reenterer = new Reenterer();
        reenterer.plan(address(depository), abi.encodeCall(IDepository.depositNative, (ID, receiver)), 1);
        _approveReceiver(address(reenterer));

        _expectDeposited(address(0), address(reenterer), 1 ether);
        _deposit(address(reenterer), 1 ether);

        assertTrue(reenterer.tried() && !reenterer.succeeded(), "the call back is refused");
        assertTrue(reenterer.errorSelector() == ReentrancyGuard.ReentrancyGuardReentrantCall.selector, "for being one");
        assertEq(address(reenterer).balance, 1 ether);
        assertEq(receiver.balance, 0);
    }

    function testFuzz_GivenTheReceiverGainsTheValue(bytes32 id, uint256 value, uint256 inventory) external {
        value = between(value, 1, user.balance);
        inventory = between(inventory, 0, type(uint128).max);
        vm.deal(receiver, inventory);

        vm.expectEmit(address(depository));
        emit Depository.Deposited(id, address(0), receiver, value);
        vm.prank(user);
        depository.depositNative{value: value}(id, receiver);

        assertEq(receiver.balance, inventory + value);
        assertEq(address(depository).balance, 0);
    }

    function _deposit(address to, uint256 value) private {
        vm.prank(user);
        depository.depositNative{value: value}(ID, to);
    }
}
