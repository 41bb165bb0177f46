// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {IDepositAddressFactory} from "../../../src/IDepositAddressFactory.sol";
import {DevToken} from "../../../src/dev/DevToken.sol";
import {Vm} from "../../Vm.sol";
import {Bequeather} from "../../actors/Bequeather.sol";
import {Reenterer} from "../../actors/Reenterer.sol";
import {BlockToken} from "../../tokens/BlockToken.sol";
import {FalseToken} from "../../tokens/FalseToken.sol";
import {FeeToken} from "../../tokens/FeeToken.sol";
import {HookToken} from "../../tokens/HookToken.sol";
import {NoReturnToken} from "../../tokens/NoReturnToken.sol";
import {DepositAddressFactoryTest} from "../DepositAddressFactoryTest.sol";

contract SweepTest is DepositAddressFactoryTest {
    function test_WhenThereIsNothingToDo() external {
        vm.recordLogs();
        _sweep(new IDepositAddressFactory.Sweep[](0));
        assertEq(vm.getRecordedLogs().length, 0);
    }

    function test_GivenTheDepositAddressIsEmpty() external {
        vm.recordLogs();
        _sweep(address(token));
        _sweep(NATIVE);
        assertEq(vm.getRecordedLogs().length, 0);
        assertEq(depositAddress.code.length, 0);
    }

    function test_RevertGiven_TheTokenHasNoCode() external {
        vm.expectRevert();
        _sweep(outsider);
    }

    function test_RevertGiven_TheTokenReturnsFalse() external {
        FalseToken liar = new FalseToken();
        liar.mint(depositAddress, 100);
        _expectSweepFailed(address(liar), 100);
        _sweep(address(liar));
    }

    function test_RevertGiven_TheTokenBlocksTheDepositAddress() external {
        BlockToken blocker = new BlockToken();
        blocker.mint(depositAddress, 100);
        blocker.setBlocked(depositAddress, true);
        _expectSweepFailed(address(blocker), 100);
        _sweep(address(blocker));
    }

    function test_RevertGiven_TheTreasuryGainsNothing() external {
        FeeToken fee = new FeeToken(10_000);
        fee.mint(depositAddress, 100);
        _expectSweepFailed(address(fee), 100);
        _sweep(address(fee));
    }

    function test_RevertGiven_OneOfManyCannotBeSwept() external {
        BlockToken blocker = new BlockToken();
        blocker.mint(depositAddress, 100);
        blocker.setBlocked(depositAddress, true);
        bytes32 other = bytes32(uint256(8));
        token.mint(factory.addressOf(other), 100);

        IDepositAddressFactory.Sweep[] memory sweeps = new IDepositAddressFactory.Sweep[](2);
        (sweeps[0], sweeps[1]) = (_at(other, address(token)), _at(SALT, address(blocker)));
        _expectSweepFailed(address(blocker), 100);
        _sweep(sweeps);

        assertEq(token.balanceOf(factory.addressOf(other)), 100);
    }

    function test_GivenTheTokenCallsBack() external {
        HookToken hooked = new HookToken();
        Reenterer reenterer = new Reenterer();
        bytes32 other = bytes32(uint256(8));
        hooked.mint(depositAddress, 100);
        hooked.mint(factory.addressOf(other), 40);
        hooked.setHook(address(treasury), reenterer);
        IDepositAddressFactory.Sweep[] memory sweeps = new IDepositAddressFactory.Sweep[](1);
        sweeps[0] = _at(other, address(hooked));
        reenterer.plan(address(factory), abi.encodeCall(IDepositAddressFactory.sweep, (sweeps)), 0);

        _expectSwept(address(hooked), 100);
        _sweep(address(hooked));

        assertTrue(reenterer.tried() && !reenterer.succeeded(), "the call back is refused");
        assertTrue(
            reenterer.errorSelector() == ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector, "for being one"
        );
        assertEq(hooked.balanceOf(address(treasury)), 100);
    }

    function testFuzz_GivenTheTokenTakesAFee(uint256 amount, uint256 feeBasisPoints) external {
        feeBasisPoints = between(feeBasisPoints, 0, 9999);
        amount = between(amount, 1, 1_000_000e18);
        FeeToken fee = new FeeToken(feeBasisPoints);
        fee.mint(depositAddress, amount);
        uint256 received = amount - amount * feeBasisPoints / 10_000;

        _expectSwept(address(fee), received);
        _sweep(address(fee));

        assertEq(fee.balanceOf(address(treasury)), received);
        assertEq(fee.balanceOf(depositAddress), 0);
    }

    function test_GivenTheTokenReturnsNothing() external {
        NoReturnToken silent = new NoReturnToken();
        silent.mint(depositAddress, 100);

        _expectSwept(address(silent), 100);
        _sweep(address(silent));

        assertEq(silent.balanceOf(address(treasury)), 100);
    }

    function testFuzz_GivenNativeValueCameBeforeDeployment(uint256 value) external {
        value = between(value, 1, user.balance);
        _pay(value);
        _sweepsNative(value);
        assertEq(depositAddress.code.length, 51);
    }

    function testFuzz_GivenNativeValueCameAfterDeployment(uint256 value) external {
        _deploy();
        value = between(value, 1, user.balance);
        _pay(value);
        _sweepsNative(value);
    }

    function test_GivenNativeValueWasForcedInBeforeDeployment() external {
        new Bequeather().give{value: 3 ether}(depositAddress);
        _sweepsNative(3 ether);
    }

    function test_GivenNativeValueWasForcedInAfterDeployment() external {
        _deploy();
        new Bequeather().give{value: 3 ether}(depositAddress);
        _sweepsNative(3 ether);
    }

    function test_GivenAnotherCallerSweptFirst() external {
        token.mint(depositAddress, 100);
        IDepositAddressFactory.Sweep[] memory sweeps = new IDepositAddressFactory.Sweep[](1);
        sweeps[0] = _at(SALT, address(token));
        vm.prank(user);
        factory.sweep(sweeps);

        vm.recordLogs();
        _sweep(sweeps);
        assertEq(vm.getRecordedLogs().length, 0);

        token.mint(depositAddress, 30);
        _expectSwept(address(token), 30);
        _sweep(sweeps);
        assertEq(token.balanceOf(address(treasury)), 1_000_000e6 + 130);
    }

    function test_WhenTheSameIsAskedForTwice() external {
        token.mint(depositAddress, 100);
        IDepositAddressFactory.Sweep[] memory sweeps = new IDepositAddressFactory.Sweep[](2);
        (sweeps[0], sweeps[1]) = (_at(SALT, address(token)), _at(SALT, address(token)));

        vm.recordLogs();
        _sweep(sweeps);
        assertEq(_sweptCount(), 1);
    }

    function test_GivenAnUnexpectedTokenCame() external {
        token.mint(depositAddress, 100);
        _sweep(address(token));
        DevToken wrong = new DevToken("Dai", "DAI", 18, depositAddress, 55);

        _expectSwept(address(wrong), 55);
        _sweep(address(wrong));

        assertEq(wrong.balanceOf(address(treasury)), 55);
        assertEq(wrong.balanceOf(depositAddress), 0);
    }

    function testFuzz_GivenThereIsSomethingAtManyAddresses(uint256 seed, uint256 length) external {
        length = between(length, 1, 20);
        IDepositAddressFactory.Sweep[] memory sweeps = new IDepositAddressFactory.Sweep[](2 * length);
        uint256[] memory amounts = new uint256[](2 * length);
        uint256[2] memory inventory = [token.balanceOf(address(treasury)), address(treasury).balance];
        for (uint256 i; i < length; ++i) {
            uint256 random = uint256(keccak256(abi.encode(seed, i)));
            bytes32 salt = bytes32(between(random, 1, type(uint48).max));
            (amounts[2 * i], amounts[2 * i + 1]) = (between(random >> 8, 1, 1e12), between(random >> 16, 1, 1e20));
            (sweeps[2 * i], sweeps[2 * i + 1]) = (_at(salt, address(token)), _at(salt, NATIVE));
            token.mint(factory.addressOf(salt), amounts[2 * i]);
            vm.deal(factory.addressOf(salt), amounts[2 * i + 1]);
        }
        for (uint256 i; i < sweeps.length; ++i) {
            vm.expectEmit(address(factory));
            emit IDepositAddressFactory.Swept(
                sweeps[i].salt, sweeps[i].token, factory.addressOf(sweeps[i].salt), amounts[i]
            );
            inventory[i % 2] += amounts[i];
        }
        _sweep(sweeps);

        for (uint256 i; i < length; ++i) {
            assertEq(token.balanceOf(factory.addressOf(sweeps[2 * i].salt)), 0);
            assertEq(factory.addressOf(sweeps[2 * i].salt).balance, 0);
        }
        assertEq(token.balanceOf(address(treasury)), inventory[0]);
        assertEq(address(treasury).balance, inventory[1]);
    }

    function _pay(uint256 value) private {
        vm.prank(user);
        (bool paid,) = depositAddress.call{value: value}("");
        assertTrue(paid, "a plain payment arrives");
    }

    function _sweepsNative(uint256 value) private {
        uint256 inventory = address(treasury).balance;
        _expectSwept(NATIVE, value);
        _sweep(NATIVE);
        assertEq(address(treasury).balance, inventory + value);
        assertEq(depositAddress.balance, 0);
    }

    function _sweptCount() private returns (uint256 count) {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].topics[0] == IDepositAddressFactory.Swept.selector) ++count;
        }
    }
}
