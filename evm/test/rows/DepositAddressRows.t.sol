// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IDepositAddress} from "../../src/IDepositAddress.sol";
import {IDepositAddressFactory} from "../../src/IDepositAddressFactory.sol";
import {DevToken} from "../../src/dev/DevToken.sol";
import {Vm} from "../Vm.sol";
import {Bequeather} from "../actors/Bequeather.sol";
import {Reenterer} from "../actors/Reenterer.sol";
import {DepositAddressFactoryTest} from "../depositAddressFactory/DepositAddressFactoryTest.sol";
import {HookToken} from "../tokens/HookToken.sol";
import {NoReturnToken} from "../tokens/NoReturnToken.sol";
import {RebaseToken} from "../tokens/RebaseToken.sol";
import {RowTest} from "./RowTest.sol";

contract DepositAddressRowsTest is DepositAddressFactoryTest, RowTest {
    function testFuzz_W18_ASweepOfATokenThatRebasesIsWhatTheTreasuryGained(uint256 amount, uint256 index) external {
        RebaseToken rebasing = new RebaseToken();
        rebasing.mint(depositAddress, between(amount, 1000, type(uint96).max));
        rebasing.rebase(between(index, 0.5e18, 2e18));

        vm.recordLogs();
        _sweep(address(rebasing));
        Vm.Log[] memory logs = vm.getRecordedLogs();

        uint256 gained = rebasing.balanceOf(address(treasury));
        _assertToldOnce(logs, address(factory), IDepositAddressFactory.Swept.selector, gained);
    }

    function test_G16_NoSweepIsMadeFromInsideOne() external {
        address[2] memory hookHolders = [depositAddress, address(treasury)];
        for (uint256 i; i < hookHolders.length; ++i) {
            HookToken hooked = new HookToken();
            Reenterer reenterer = new Reenterer();
            hooked.mint(depositAddress, 100);
            hooked.mint(factory.addressOf(bytes32(uint256(8))), 40);
            hooked.setHook(hookHolders[i], reenterer);
            IDepositAddressFactory.Sweep[] memory second = new IDepositAddressFactory.Sweep[](1);
            second[0] = _at(bytes32(uint256(8)), address(hooked));
            reenterer.plan(address(factory), abi.encodeCall(IDepositAddressFactory.sweep, (second)), 0);

            _expectSwept(address(hooked), 100);
            _sweep(address(hooked));

            _assertRefused(reenterer);
            assertEq(hooked.balanceOf(address(treasury)), 100);
        }
    }

    function testFuzz_G19_OnlyTheTreasuryGainsFromASweep(address caller, uint256 amount) external {
        if (caller == address(treasury) || caller == depositAddress || caller == address(factory)) caller = outsider;
        amount = between(amount, 1, type(uint128).max);
        uint256 inventory = token.balanceOf(address(treasury));
        token.mint(depositAddress, amount);
        IDepositAddressFactory.Sweep[] memory sweeps = new IDepositAddressFactory.Sweep[](1);
        sweeps[0] = _at(SALT, address(token));

        vm.prank(caller);
        factory.sweep(sweeps);

        assertEq(token.balanceOf(address(treasury)), inventory + amount);
        assertEq(token.balanceOf(caller), 0);
        vm.expectRevert(abi.encodeWithSelector(IDepositAddress.NotFactory.selector, caller));
        vm.prank(caller);
        IDepositAddress(depositAddress).forward(address(token), 0);
    }

    function testFuzz_G19_AnotherTokenThanExpectedIsNotStuck(uint256 amount) external {
        amount = between(amount, 1, type(uint128).max);
        token.mint(depositAddress, 100);
        _sweep(address(token));
        DevToken another = new DevToken("Dai", "DAI", 18, depositAddress, amount);

        _expectSwept(address(another), amount);
        _sweep(address(another));

        assertEq(another.balanceOf(address(treasury)), amount);
        assertEq(another.balanceOf(depositAddress), 0);
    }

    function testFuzz_G19_ACoinOfAContractThatEndsIsNotStuck(uint256 value, bool deployed) external {
        if (deployed) _deploy();
        value = between(value, 1, user.balance);
        uint256 inventory = address(treasury).balance;
        Bequeather ending = new Bequeather();
        vm.prank(user);
        ending.give{value: value}(depositAddress);

        _expectSwept(NATIVE, value);
        _sweep(NATIVE);

        assertEq(address(treasury).balance, inventory + value);
        assertEq(depositAddress.balance, 0);
    }

    function testFuzz_G19_ATokenThatReturnsNothingIsNotStuck(uint256 amount) external {
        amount = between(amount, 1, type(uint128).max);
        NoReturnToken silent = new NoReturnToken();
        silent.mint(depositAddress, amount);

        _expectSwept(address(silent), amount);
        _sweep(address(silent));

        assertEq(silent.balanceOf(address(treasury)), amount);
        assertEq(silent.balanceOf(depositAddress), 0);
    }
}
